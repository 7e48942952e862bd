-- One row for each item: the newest row of any outcome.
WITH others AS MATERIALIZED (
    FROM store.newest
    WHERE list_contains(getvariable('environments'), environment) AND outcome NOT IN ('accepted', 'rejected')
),
answered AS MATERIALIZED (
    SELECT answer.environment, answer.item_id, answer.epoch, answer.finished_at, answer.run_id
    FROM store.answers AS answer
    SEMI JOIN others ON (others.item_id, others.environment) = (answer.item_id, answer.environment)
),
later AS MATERIALIZED (
    SELECT others.*
    FROM others LEFT JOIN answered ON (answered.item_id, answered.environment) = (others.item_id, others.environment)
    WHERE answered.item_id IS NULL OR (others.epoch, others.finished_at, others.run_id)
        > (answered.epoch, answered.finished_at, answered.run_id)
)
SELECT answer.* /* tag columns */
FROM store.answers AS answer
ANTI JOIN later ON (later.item_id, later.environment) = (answer.item_id, answer.environment)
UNION ALL BY NAME
SELECT * /* tag columns */ FROM later
