-- One row for each item that the service ever answered: its newest answer, also if a later attempt failed. Its state says
-- how `catalog` has it: it may be gone, or ineligible since. Redacted rows are of no item.
SELECT answer.* /* screening columns */, state /* tag columns */
FROM store.answers AS answer
LEFT JOIN (SELECT environment, item_id, state FROM catalog) USING (environment, item_id)
