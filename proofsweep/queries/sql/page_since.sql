-- Since when each item that needs attention has had its outcome without a break, by the rows that are in the store.
UPDATE items SET since = unbroken.since
FROM (
    SELECT environment, item_id, min(finished_at) AS since
    FROM (
        SELECT
            rows.environment, rows.item_id, rows.finished_at, rows.outcome = open_items.outcome AS is_same,
            max(
                CASE WHEN rows.outcome <> open_items.outcome AND rows.outcome <> 'failed'
                THEN (entry, rows.finished_at) END
            ) OVER (PARTITION BY rows.environment, rows.item_id) AS broken_at,
            (entry, rows.finished_at) AS written_at
        FROM verdicts AS rows JOIN store.entries USING (run_id, leg)
        JOIN (SELECT environment, item_id, outcome FROM items WHERE state IN ({open})) AS open_items
            ON (open_items.environment, open_items.item_id) = (rows.environment, rows.item_id)
    )
    WHERE is_same AND coalesce(written_at > broken_at, true)
    GROUP BY environment, item_id
) AS unbroken
WHERE (items.environment, items.item_id) = (unbroken.environment, unbroken.item_id)
