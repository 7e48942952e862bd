-- What `changes` compares each run with: the runs of its environment since the last one that left nothing out of its
-- catalog, and was not pruned; and those older than that for an item that has no other row than failed ones in them. What
-- such a run had is gone if one that left nothing out, and was not pruned, does not have it; what it may have had, and was
-- pruned, is not new.
-- The variable compared_runs chooses runs, if it is set: whoever asks about some of them opens no file of the others.
WITH known AS (
    SELECT
        run_id, environment, identity, failed, NOT is_partial AND skipped = 0 AND remaining = 0 AS is_whole,
        run_id IN (SELECT run_id FROM store.pruned) AS is_pruned
    FROM store.plans
    WHERE list_contains(getvariable('environments'), environment)
),
compared AS (
    SELECT
        later.run_id, later.environment, later.identity, later.is_whole AND NOT later.is_pruned AS lists_all,
        max(earlier.run_id) AS since
    FROM known AS later
    LEFT JOIN known AS earlier ON (earlier.environment, earlier.identity) = (later.environment, later.identity)
        AND earlier.is_whole AND NOT earlier.is_pruned AND earlier.run_id < later.run_id
    GROUP BY ALL
),
last_pruned AS (  -- before each run
    SELECT compared.run_id, max(pruned.run_id) AS pruned_run_id
    FROM compared
    JOIN store.pruned AS pruned
        ON (pruned.environment, pruned.identity) = (compared.environment, compared.identity)
        AND pruned.run_id < compared.run_id
    GROUP BY ALL
)
SELECT
    compared.run_id AS at_run, known.run_id, known.run_id = compared.run_id AS is_now,
    compared.lists_all AND known.identity = compared.identity AS may_be_gone,
    coalesce(pruned_run_id < since, pruned_run_id IS NULL) AS may_be_new,
    since IS NULL AS is_first,
    CASE WHEN since IS NULL OR max(CASE WHEN known.run_id < compared.run_id THEN failed END) OVER (
        PARTITION BY compared.run_id
    ) > 0 THEN coalesce(since, compared.run_id) END AS older_than
FROM compared
JOIN known ON known.environment = compared.environment
    AND known.run_id BETWEEN coalesce(since, compared.run_id) AND compared.run_id
LEFT JOIN last_pruned ON last_pruned.run_id = compared.run_id
WHERE getvariable('compared_runs') IS NULL OR list_contains(getvariable('compared_runs'), compared.run_id)
