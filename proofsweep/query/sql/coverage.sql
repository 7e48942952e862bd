-- How much of each catalog has an answer. Its size is that of the newest run over it: what was planned and what was left
-- out as not due. Passes over watched folders and redrives have no size of their own, since each is a part.
WITH sizes AS (
    SELECT environment, catalog, max(run_id) AS newest_run_id, arg_max(items + skipped, run_id) AS files
    FROM store.plans
    WHERE list_contains(getvariable('environments'), environment) AND NOT is_partial
    GROUP BY ALL
),
answers AS (
    SELECT
        answer.environment, catalog, count(*) AS answered,
        count(*) FILTER (answer.finished_at >= now() - INTERVAL 30 DAY) AS answered_in_30_days,
        count(*) FILTER (outcome = 'accepted') AS accepted, count(*) FILTER (outcome = 'rejected') AS rejected,
        min(finished_at) AS oldest_answer, max(finished_at) AS newest_answer
    FROM latest_answer AS answer JOIN store.plans USING (run_id)
    GROUP BY ALL
)
SELECT
    environment, catalog, files, coalesce(answered, 0) AS answered, coalesce(accepted, 0) AS accepted,
    coalesce(rejected, 0) AS rejected, coalesce(answered_in_30_days, 0) AS answered_in_30_days, oldest_answer,
    newest_answer, newest_run_id
FROM sizes LEFT JOIN answers USING (environment, catalog)
