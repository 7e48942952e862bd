-- Stand-in.
WITH newest AS (
    SELECT run_id, environment, identity, catalog, skipped, items + skipped AS files
    FROM store.plans
    WHERE list_contains(getvariable('environments'), environment) AND NOT is_partial
    QUALIFY row_number() OVER (PARTITION BY environment, identity ORDER BY run_id DESC) = 1
),
listed AS (
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
    environment, newest.catalog, identity, listed.item_id, coalesce(relative_path, audio) AS file,
    coalesce(outcome, 'not_sent') AS state, true AS is_current,
    coalesce(outcome IN ('accepted', 'rejected', 'ineligible'), false) AS is_covered,
    NULL::VARCHAR AS moved_to, outcome, coalesce(verdict, reason) AS why, coalesce(what_to_do, general_advice) AS what_to_do,
    detail, audio, sidecar, reason, verdict, verify_request_id, standing.run_id, finished_at, tags
FROM newest LEFT JOIN listed USING (environment, identity)
LEFT JOIN standing USING (environment, item_id) LEFT JOIN store.advice USING (reason), store.general_advice
