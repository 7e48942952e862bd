-- Since when each item of `rejects` has had its outcome without a break, by the rows that are in the store.
SELECT environment, item_id, min(finished_at) AS since
FROM (
    SELECT
        rows.environment, rows.item_id, rows.finished_at, rows.outcome = rejects.outcome AS is_same,
        max(CASE WHEN rows.outcome <> rejects.outcome AND rows.outcome <> 'failed' THEN (rows.epoch, rows.finished_at) END)
            OVER (PARTITION BY rows.environment, rows.item_id) AS broken_at,
        (rows.epoch, rows.finished_at) AS written_at
    FROM verdicts AS rows
    JOIN rejects ON (rejects.environment, rejects.item_id) = (rows.environment, rows.item_id)
)
WHERE is_same AND coalesce(written_at > broken_at, true)
GROUP BY environment, item_id
