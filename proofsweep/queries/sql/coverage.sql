-- How much of each catalog has an answer: the counts of `catalog`. An item counts in each catalog whose newest whole
-- listing has it, and there once. An answer counts whichever run or catalog it came from. Answered is what was answered
-- with the version of the file that is listed; covered is that, or ineligible, so that covered = files when nothing is
-- left to do. Gone are items of the catalog that are listed no more; of moved ones the same bytes are listed elsewhere.
-- What lies in a folder that could not be read is not listed, and counts as it stood. Passes over watched folders list no
-- catalog, since each is a part. The oldest and the newest answer, and those of 30 days, are of the answered ones. The
-- oldest open reject is since when the file is rejected that is so for longest.
WITH items AS (
    SELECT
        environment, unnest(identities) AS identity, state, reason, rejected_since,
        state NOT IN ('gone', 'moved') AS is_there, is_covered,
        CASE WHEN is_covered AND state <> 'ineligible' THEN answered_at END AS answered_at
    FROM catalog
    WHERE listed_run_id IS NOT NULL  -- what a pass took is not listed, and not of the catalog any more
        OR run_id NOT IN (SELECT run_id FROM store.plans WHERE catalog_kind = 'ingest')
)
SELECT
    environment, listings.catalog, count(*) FILTER (is_there) AS files,
    count(*) FILTER (is_covered AND state <> 'ineligible') AS answered, count(*) FILTER (is_covered) AS covered,
    count(*) FILTER (state = 'accepted') AS accepted, count(*) FILTER (state = 'rejected') AS rejected,
    count(*) FILTER (state = 'failed') AS failed, count(*) FILTER (state = 'ineligible') AS ineligible,
    count(*) FILTER (state = 'not_sent') AS not_sent, count(*) FILTER (state = 'gone') AS gone,
    count(*) FILTER (state = 'moved') AS moved,
    count(*) FILTER (state IN ('rejected', 'failed', 'ineligible') AND reason IS DISTINCT FROM 'clip') AS need_attention,
    count(*) FILTER (answered_at >= now() - INTERVAL 30 DAY) AS answered_in_30_days,
    min(answered_at) AS oldest_answer, max(answered_at) AS newest_answer, listings.run_id AS newest_run_id,
    min(rejected_since) AS oldest_open_reject
FROM items JOIN store.listings AS listings USING (environment, identity)
GROUP BY environment, identity, listings.catalog, listings.run_id
