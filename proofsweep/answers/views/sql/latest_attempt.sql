-- One row for each item: the newest row of any outcome.
WITH others AS (
    SELECT * /* tag columns */
    FROM store.newest
    WHERE list_contains(getvariable('environments'), environment) AND outcome NOT IN ('accepted', 'rejected')
        AND NOT (item_id = 'redacted' AND audio = 'redacted')
)
SELECT answer.*
FROM latest_answer AS answer
ANTI JOIN others ON (others.item_id, others.environment) = (answer.item_id, answer.environment)
    AND (others.epoch, others.finished_at, others.run_id) > (answer.epoch, answer.finished_at, answer.run_id)
UNION ALL BY NAME
SELECT others.*
FROM others
ANTI JOIN latest_answer AS answer ON (others.item_id, others.environment) = (answer.item_id, answer.environment)
    AND (others.epoch, others.finished_at, others.run_id) <= (answer.epoch, answer.finished_at, answer.run_id)
