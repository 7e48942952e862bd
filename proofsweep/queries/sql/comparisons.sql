-- What `changes` compares each run with: the runs of its environment since the last one that left nothing out of its
-- catalog, and was not pruned; and those older than that for an item that has no other row than failed ones in them. What
-- such a run had is gone if one that left nothing out, and was not pruned, does not have it; what it may have had, and was
-- pruned, is not new.
-- The variable compared_runs chooses runs, if it is set: whoever asks about some of them opens no file of the others.
-- Those of one catalog are compared as one, under the name of the last: what they left with what was before the first.
WITH known AS (
    SELECT
        run_id, environment, identity, failed,
        coalesce(list_contains(getvariable('compared_runs'), run_id), true) AS is_asked,
        NOT is_partial AND skipped = 0 AND remaining = 0
            AND run_id NOT IN (SELECT run_id FROM store.pruned) AS lists_all
    FROM store.plans
    WHERE list_contains(getvariable('environments'), environment)
),
asked AS (  -- what one that left nothing out does not have is not there after it, though an earlier one had it
    SELECT
        environment, identity, max(run_id) AS at_run, min(run_id) AS first, bool_or(lists_all) AS lists_all,
        coalesce(max(run_id) FILTER (lists_all), min(run_id)) AS counted_from
    FROM known WHERE is_asked
    GROUP BY environment, identity, CASE WHEN getvariable('compared_runs') IS NULL THEN run_id END
),
compared AS (
    SELECT asked.*, max(earlier.run_id) AS since
    FROM asked
    LEFT JOIN known AS earlier ON (earlier.environment, earlier.identity) = (asked.environment, asked.identity)
        AND earlier.lists_all AND earlier.run_id < asked.first
    GROUP BY ALL
),
last_pruned AS (  -- before each of them
    SELECT compared.at_run, max(pruned.run_id) AS pruned_run_id
    FROM compared
    JOIN store.pruned AS pruned
        ON (pruned.environment, pruned.identity) = (compared.environment, compared.identity)
        AND pruned.run_id < compared.first
    GROUP BY ALL
)
SELECT
    compared.at_run, known.run_id, known.run_id >= first AS is_now,
    compared.lists_all, compared.lists_all AND known.identity = compared.identity AS may_be_gone,
    coalesce(pruned_run_id < since, pruned_run_id IS NULL) AS may_be_new,
    since IS NULL AS is_first,
    CASE WHEN since IS NULL OR max(CASE WHEN known.run_id < first THEN failed END) OVER (
        PARTITION BY compared.at_run
    ) > 0 THEN coalesce(since, first) END AS older_than
FROM compared
JOIN known ON known.environment = compared.environment
    AND known.run_id BETWEEN coalesce(since, first) AND compared.at_run
    AND (known.run_id < first OR (known.identity = compared.identity AND is_asked AND known.run_id >= counted_from))
LEFT JOIN last_pruned ON last_pruned.at_run = compared.at_run
