-- One row for each item that the service ever answered: its newest answer, also if a later attempt failed. Redacted
-- rows are of no item.
SELECT * /* screening columns */ /* tag columns */
FROM store.newest
WHERE list_contains(getvariable('environments'), environment) AND outcome IN ('accepted', 'rejected')
    AND NOT (item_id = 'redacted' AND audio = 'redacted')
