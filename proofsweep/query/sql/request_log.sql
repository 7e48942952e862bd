-- Each request ID that the partner or the storage delivered, with the file that the call was made for.
SELECT
    exchange.request_id, exchange.call, exchange.started_at, exchange.status, exchange.error_code, exchange.failure,
    exchange.attempt, exchange.elapsed_ms, exchange.run_id, exchange.leg, exchange.manifest_row, verdict.item_id,
    coalesce(verdict.relative_path, verdict.audio) AS file
FROM exchanges AS exchange
LEFT JOIN verdicts AS verdict USING (run_id, manifest_row)
WHERE exchange.request_id IS NOT NULL
