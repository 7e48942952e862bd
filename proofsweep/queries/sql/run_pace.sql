-- The calls of a run over time: `moment` (UTC), `step` (s), counts a second, and median milliseconds of each kind.
WITH
    span AS (
        SELECT greatest(epoch(max(started_at) - min(started_at)), 1) AS seconds FROM exchanges
    ),
    width AS (SELECT greatest(1, ceil(seconds / {points}))::INTEGER AS step FROM span)
SELECT
    time_bucket(to_seconds(step), started_at) AS moment,
    any_value(step) AS step,
    count(*) FILTER (call IN ('uploads', 'verify')) / any_value(step) AS calls,
    count(*) FILTER (status = 429) / any_value(step) AS throttled,
    count(*) FILTER (failure IS NOT NULL OR status >= 500) / any_value(step) AS failed,
    median(elapsed_ms) FILTER (call = 'uploads' AND status < 300) AS uploads,
    median(elapsed_ms) FILTER (call = 'slot' AND status < 300) AS slot,
    median(elapsed_ms) FILTER (call = 'verify' AND status < 300) AS verify
FROM exchanges, width
GROUP BY moment ORDER BY moment
