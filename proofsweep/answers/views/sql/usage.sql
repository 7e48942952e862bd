-- What GET /partner/usage said of a UTC day, each time that it was asked.
SELECT
    operation_id, environment, started_at AS asked_at,
    unnest(from_json(usage_json,
        '[{"day":"VARCHAR","used":"BIGINT","remaining":"BIGINT","quota_limit":"DOUBLE","quota_period":"VARCHAR"}]'
    ), recursive := true)
FROM probes
