-- How much of each catalog has an answer. Its files are the rows of the newest run over it, with those that were not due;
-- an answer counts whichever run or catalog it came from, and none of a file that is no longer listed. Accepted,
-- rejected and in need of attention is what stands so in `standing`. Passes over watched folders and redrives list no
-- catalog, since each is a part.
WITH newest AS (
    SELECT run_id, environment, identity, catalog, skipped, items + skipped AS files
    FROM store.plans
    WHERE list_contains(getvariable('environments'), environment) AND NOT is_partial
    QUALIFY row_number() OVER (PARTITION BY environment, identity ORDER BY run_id DESC) = 1
),
listed AS (  -- the items of the newest run, those that remain too; where it left some out, of the whole catalog
    SELECT newest.environment, identity, item_id, manifest_row
    FROM store.verdicts
    JOIN (SELECT filename, newest.* FROM store.verdicts_files JOIN newest USING (run_id) WHERE skipped = 0) AS newest USING (filename)
    UNION
    SELECT environment, identity, item_id, manifest_row
    FROM store.planned JOIN newest USING (run_id) WHERE skipped = 0
    UNION ALL
    SELECT environment, identity, item_id, NULL AS manifest_row
    FROM store.listed JOIN newest USING (run_id)
)
SELECT
    environment, catalog, files, count(finished_at) AS answered, count(*) FILTER (outcome = 'accepted') AS accepted,
    count(*) FILTER (outcome = 'rejected') AS rejected, count(*) FILTER (outcome <> 'accepted') AS need_attention,
    count(*) FILTER (finished_at >= now() - INTERVAL 30 DAY) AS answered_in_30_days,
    min(finished_at) AS oldest_answer, max(finished_at) AS newest_answer, newest.run_id AS newest_run_id
FROM newest
LEFT JOIN listed USING (environment, identity)
LEFT JOIN (SELECT environment, item_id, finished_at FROM latest_answer) USING (environment, item_id)
LEFT JOIN (SELECT environment, item_id, outcome FROM standing) USING (environment, item_id)
GROUP BY environment, identity, catalog, files, newest.run_id
