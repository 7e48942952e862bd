-- One row for each run, over all its legs and partitions: its rows by outcome, what remains, and what its ended legs have
-- called. The rows are those in `verdicts`; of a run that was pruned, those that its legs have counted. It is complete if
-- nothing remains; else it ended as its last leg that did not, and null if none has ended. It has chosen rows if it is a pass
-- over a watched folder, or if `--where`, `--only` or `--newer-than` left rows out; null if it was pruned wholly.
WITH known AS (  -- of a run that was pruned wholly, only its rows of `runs` are left
    SELECT run_id, environment, catalog, catalog_kind, items, skipped, has_chosen_rows FROM store.plans
    UNION ALL
    SELECT run_id, any_value(environment), any_value(catalog), NULL, any_value(items), any_value(skipped), NULL
    FROM store.runs ANTI JOIN store.plans USING (run_id)
    GROUP BY run_id
),
legs AS (
    SELECT
        run_id, count(*) AS legs, min(started_at) AS started_at, max(finished_at) AS finished_at,
        arg_max(ended_by, (finished_at, leg)) FILTER (ended_by <> 'complete') AS stopped_by,
        sum(calls)::BIGINT AS calls, sum(calls_again)::BIGINT AS calls_again, sum(throttled)::BIGINT AS throttled,
        sum(bytes_sent)::BIGINT AS bytes_sent, arg_max(quota_after, (finished_at, leg)) AS quota_after
    FROM store.runs
    GROUP BY run_id
),
finished AS (
    SELECT run_id, outcome, count(*) AS files
    FROM store.verdicts
    WHERE run_id NOT IN (SELECT run_id FROM store.pruned)
    GROUP BY ALL
    UNION ALL
    FROM (UNPIVOT (
        SELECT run_id, accepted, rejected, failed, ineligible
        FROM store.runs SEMI JOIN store.pruned USING (run_id)
    ) ON accepted, rejected, failed, ineligible INTO NAME outcome VALUE files)
),
by_outcome AS (
    SELECT
        run_id, sum(files) FILTER (outcome = 'accepted') AS accepted, sum(files) FILTER (outcome = 'rejected') AS rejected,
        sum(files) FILTER (outcome = 'failed') AS failed, sum(files) FILTER (outcome = 'ineligible') AS ineligible,
        sum(files) AS finished
    FROM finished
    GROUP BY run_id
)
SELECT
    known.run_id, strptime(known.run_id[:8], '%Y%m%d')::DATE AS run_date, environment, catalog, catalog_kind, started_at,
    finished_at, coalesce(legs, 0) AS legs, items, skipped, coalesce(accepted, 0)::BIGINT AS accepted,
    coalesce(rejected, 0)::BIGINT AS rejected, coalesce(failed, 0)::BIGINT AS failed,
    coalesce(ineligible, 0)::BIGINT AS ineligible, (items - coalesce(finished, 0))::BIGINT AS remaining,
    CASE WHEN items = coalesce(finished, 0) THEN 'complete' ELSE stopped_by END AS ended_by, calls, calls_again,
    throttled, bytes_sent, quota_after, has_chosen_rows
FROM known
LEFT JOIN by_outcome ON by_outcome.run_id = known.run_id
LEFT JOIN legs ON legs.run_id = known.run_id
WHERE list_contains(getvariable('environments'), environment)
