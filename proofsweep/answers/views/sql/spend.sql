-- What each UTC day cost, by key: keyed calls, throttled calls and bytes by the time of each call; legs, answers and calls
-- that repeat answered ones on the day on which the leg ended, where the calls of a pruned leg are too. The calls of
-- operations have no key here; those of monitoring are in `probes`.
WITH sent AS (
    SELECT
        run_id, leg, started_at::DATE AS day,
        count(bytes_sent) FILTER (call NOT IN ('health', 'slot', 'download')) AS calls,
        count(*) FILTER (status = 429) AS throttled, sum(bytes_sent) AS bytes_sent
    FROM exchanges
    WHERE environment IS NULL
    GROUP BY ALL
),
costs AS (
    SELECT plan.environment, day, key_fingerprint, sent.calls, sent.throttled, sent.bytes_sent
    FROM sent
    JOIN store.plans AS plan USING (run_id)
    LEFT JOIN runs USING (run_id, leg)
    UNION ALL BY NAME
    SELECT
        environment, finished_at::DATE AS day, key_fingerprint, 1 AS legs, calls_again, accepted + rejected AS answers,
        quota_after, finished_at
    FROM runs
    UNION ALL BY NAME
    SELECT environment, finished_at::DATE AS day, key_fingerprint, calls, throttled, bytes_sent
    FROM runs ANTI JOIN sent USING (run_id, leg)
    UNION ALL BY NAME
    SELECT
        environment, started_at::DATE AS day, 1 AS calls,
        (status IS NOT DISTINCT FROM 429)::INTEGER AS throttled, bytes_sent
    FROM exchanges
    WHERE environment IS NOT NULL AND call NOT IN ('health', 'slot', 'download') AND bytes_sent IS NOT NULL
    UNION ALL BY NAME
    SELECT
        environment, started_at::DATE AS day, 1 AS calls, (status IS NOT DISTINCT FROM 429)::INTEGER AS throttled,
        0 AS bytes_sent, rate_remaining AS quota_after, started_at AS finished_at
    FROM probes
    WHERE call = 'usage' AND failure IS DISTINCT FROM 'connection'
)
SELECT
    environment, day, key_fingerprint, coalesce(sum(legs), 0)::BIGINT AS legs, coalesce(sum(calls), 0)::BIGINT AS calls,
    coalesce(sum(calls_again), 0)::BIGINT AS calls_again, coalesce(sum(throttled), 0)::BIGINT AS throttled,
    coalesce(sum(bytes_sent), 0)::BIGINT AS bytes_sent, coalesce(sum(answers), 0)::BIGINT AS answers,
    arg_max(quota_after, finished_at) AS quota_after
FROM costs
GROUP BY ALL
