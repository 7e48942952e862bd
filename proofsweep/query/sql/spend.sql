-- What each day cost, by key: legs, keyed calls, those that repeat answered ones, throttled calls and bytes.
SELECT
    environment, run_date AS day, key_fingerprint, count(*) AS legs, sum(calls)::BIGINT AS calls,
    sum(calls_again)::BIGINT AS calls_again, sum(throttled)::BIGINT AS throttled,
    sum(bytes_sent)::BIGINT AS bytes_sent, sum(accepted + rejected)::BIGINT AS answers,
    arg_max(quota_after, finished_at) AS quota_after
FROM runs
GROUP BY ALL
