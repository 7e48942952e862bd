-- How much of each catalog has an answer, by its newest whole listing, each item once. An answer counts whichever run or
-- catalog it came from. Covered is what was answered with the version of the file that is listed, or is ineligible, so
-- that covered = files when nothing is left to do. Gone are items of the catalog that are listed no more. Passes over
-- watched folders list no catalog, since each is a part. The oldest open reject is the oldest answer among
-- the files that are rejected now.
WITH listed AS (
    SELECT DISTINCT environment, identity, listings.catalog, run_id, item_id
    FROM store.listing JOIN store.listings AS listings USING (run_id)
    WHERE list_contains(getvariable('environments'), environment)
),
now AS MATERIALIZED (
    SELECT environment, identity, item_id, state, is_covered, answered_at FROM catalog
),
lost AS (
    SELECT environment, identity, count(*) AS gone FROM now WHERE state IN ('gone', 'moved') GROUP BY ALL
)
SELECT
    environment, listed.catalog, count(*) AS files, count(answered_at) AS answered, count(*) FILTER (is_covered) AS covered,
    count(*) FILTER (state = 'accepted') AS accepted, count(*) FILTER (state = 'rejected') AS rejected,
    count(*) FILTER (state = 'failed') AS failed, count(*) FILTER (state = 'ineligible') AS ineligible,
    count(*) FILTER (state = 'not_sent') AS not_sent, coalesce(any_value(gone), 0) AS gone,
    count(*) FILTER (state IN ('rejected', 'failed', 'ineligible')) AS need_attention,
    count(*) FILTER (answered_at >= now() - INTERVAL 30 DAY) AS answered_in_30_days,
    min(answered_at) AS oldest_answer, max(answered_at) AS newest_answer, listed.run_id AS newest_run_id,
    min(answered_at) FILTER (state = 'rejected') AS oldest_open_reject
FROM listed
LEFT JOIN (SELECT * EXCLUDE (identity) FROM now) USING (environment, item_id)
LEFT JOIN lost USING (environment, identity)
GROUP BY environment, identity, listed.catalog, listed.run_id
