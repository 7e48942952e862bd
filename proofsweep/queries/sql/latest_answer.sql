-- One row for each item that the service ever answered: its newest answer, also if a later attempt failed. Its state says
-- how `catalog` has it: it may be gone, or ineligible since; null if its catalog is retired.
SELECT * /* tag columns */
FROM (
    SELECT answer.* REPLACE (coalesce(standing.tags, answer.tags) AS tags), state,
        coalesce(answer.relative_path, answer.audio) AS file
    FROM store.answers AS answer
    LEFT JOIN (  -- grouped, though an item is there once: only so DuckDB leaves out the join if nobody asks for its columns
        SELECT environment, item_id, any_value(state) AS state, any_value(tags) AS tags
        FROM catalog
        GROUP BY environment, item_id
    ) AS standing ON standing.environment = answer.environment AND standing.item_id = answer.item_id
)
