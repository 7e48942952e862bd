-- What each day cost, by key: legs, keyed calls, those that repeat answered ones, throttled calls and bytes. The calls of
-- operations have no key here; those of monitoring are in `probes`.
WITH costs AS (
    SELECT
        environment, run_date AS day, key_fingerprint, 1 AS legs, calls, calls_again, throttled, bytes_sent,
        accepted + rejected AS answers, quota_after, finished_at
    FROM runs
    UNION ALL BY NAME
    SELECT
        environment, started_at::DATE AS day, 0 AS legs, 1 AS calls, 0 AS calls_again,
        (status IS NOT DISTINCT FROM 429)::INTEGER AS throttled, bytes_sent, 0 AS answers
    FROM exchanges
    WHERE environment IS NOT NULL AND call NOT IN ('health', 'slot', 'download') AND bytes_sent IS NOT NULL
    UNION ALL BY NAME
    SELECT
        environment, started_at::DATE AS day, 0 AS legs, 1 AS calls, 0 AS calls_again,
        (status IS NOT DISTINCT FROM 429)::INTEGER AS throttled, 0 AS bytes_sent, 0 AS answers,
        rate_remaining AS quota_after, started_at AS finished_at
    FROM probes
    WHERE call = 'usage' AND failure IS DISTINCT FROM 'connection'
)
SELECT
    environment, day, key_fingerprint, sum(legs)::BIGINT AS legs, sum(calls)::BIGINT AS calls,
    sum(calls_again)::BIGINT AS calls_again, sum(throttled)::BIGINT AS throttled,
    sum(bytes_sent)::BIGINT AS bytes_sent, sum(answers)::BIGINT AS answers,
    arg_max(quota_after, finished_at) AS quota_after
FROM costs
GROUP BY ALL
