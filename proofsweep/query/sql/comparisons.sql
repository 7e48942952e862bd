-- What `changes` compares each run with: the runs of its environment since the last one that left nothing out of its
-- catalog; and those older than that for an item that has no other row than failed ones in them. What such a run had is
-- gone if one that left nothing out does not have it.
WITH known AS (
    SELECT run_id, environment, identity, failed, NOT is_partial AND skipped = 0 AND remaining = 0 AS is_whole
    FROM store.plans
    WHERE list_contains(getvariable('environments'), environment)
),
compared AS (
    SELECT later.run_id, later.environment, later.identity, later.is_whole, max(earlier.run_id) AS since
    FROM known AS later
    LEFT JOIN known AS earlier ON (earlier.environment, earlier.identity) = (later.environment, later.identity)
        AND earlier.is_whole AND earlier.run_id < later.run_id
    GROUP BY ALL
)
SELECT
    compared.run_id AS at_run, known.run_id, known.run_id = compared.run_id AS is_now,
    compared.is_whole AND known.identity = compared.identity AS may_be_gone,
    since IS NULL AS is_first,
    CASE WHEN since IS NULL OR max(CASE WHEN known.run_id < compared.run_id THEN failed END) OVER (
        PARTITION BY compared.run_id
    ) > 0 THEN coalesce(since, compared.run_id) END AS older_than
FROM compared JOIN known ON known.environment = compared.environment
    AND known.run_id BETWEEN coalesce(since, compared.run_id) AND compared.run_id
