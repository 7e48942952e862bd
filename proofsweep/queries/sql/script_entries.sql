-- The legs in their order: by the ledger, then those that it does not have yet.
WITH entered AS (
    SELECT
        split_part(name, '/', 2) AS run_id, split_part(name, '/', 4)::INTEGER AS leg, number AS entry
    FROM {ledger}
    WHERE kind = 'leg'
)
FROM entered
UNION ALL
SELECT run_id, leg, (1 << 62) + row_number() OVER (ORDER BY run_id, leg) AS entry
FROM (SELECT DISTINCT run_id, leg FROM store.verdicts) ANTI JOIN entered USING (run_id, leg)
