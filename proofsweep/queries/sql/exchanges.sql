SELECT exchanges.* REPLACE (plan.environment AS environment)
FROM store.exchanges
JOIN (FROM store.plans WHERE list_contains(getvariable('environments'), environment)) AS plan USING (run_id)
UNION ALL
SELECT * FROM store.exchanges WHERE list_contains(getvariable('environments'), environment)
