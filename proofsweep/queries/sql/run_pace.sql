-- The calls of a run over time: `moment` (UTC), `step` (s), counts a second, and median milliseconds of each kind.
WITH
    span AS (SELECT min(started_at) AS first, max(started_at) AS last FROM run_calls),
    width AS (SELECT *, greatest(1, ceil(epoch(last - first) / {points}))::INTEGER AS step FROM span),
    moments AS (
        SELECT step, unnest(generate_series(
            time_bucket(to_seconds(step), first), time_bucket(to_seconds(step), last), to_seconds(step)
        )) AS moment
        FROM width
    )
SELECT
    moment, step,
    count(*) FILTER (call IN ('uploads', 'verify')) / step AS calls,
    count(*) FILTER (status = 429) / step AS throttled,
    count(*) FILTER (failure IS NOT NULL OR status >= 500) / step AS failed,
    median(elapsed_ms) FILTER (call = 'uploads' AND status < 300) AS uploads,
    median(elapsed_ms) FILTER (call = 'slot' AND status < 300) AS slot,
    median(elapsed_ms) FILTER (call = 'verify' AND status < 300) AS verify
FROM moments LEFT JOIN run_calls ON time_bucket(to_seconds(step), started_at) = moment
GROUP BY moment, step ORDER BY moment
