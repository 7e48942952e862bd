-- Each request ID that the partner or the storage delivered, with the file that the call was made for.
SELECT
    exchange.request_id, exchange.call, exchange.started_at, exchange.status, exchange.error_code, exchange.failure,
    exchange.attempt, exchange.elapsed_ms, exchange.run_id, exchange.leg, exchange.manifest_row, verdict.item_id,
    coalesce(verdict.relative_path, verdict.audio) AS file
FROM exchanges AS exchange
LEFT JOIN verdicts AS verdict USING (run_id, manifest_row)
WHERE exchange.request_id IS NOT NULL
UNION ALL BY NAME
SELECT
    request_id, call, started_at, status, error_code, failure, 1 AS attempt, elapsed_ms, operation_id AS run_id, 1 AS leg
FROM probes
WHERE request_id IS NOT NULL
