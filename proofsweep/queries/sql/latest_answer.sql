-- One row for each item that the service ever answered: its newest answer, also if a later attempt failed. Its state says
-- how `catalog` has it: it may be gone, or ineligible since; null if its catalog is retired.
SELECT * /* tag columns */
FROM (
    SELECT answer.* REPLACE (coalesce(catalog.tags, answer.tags) AS tags), state,
        coalesce(answer.relative_path, answer.audio) AS file
    FROM store.answers AS answer
    LEFT JOIN catalog ON (catalog.environment, catalog.item_id) = (answer.environment, answer.item_id)
)
