-- One row for each probe of the service: status, latency, request ID, headers of the quota, and what is wrong.
SELECT DISTINCT * FROM store.probes WHERE list_contains(getvariable('environments'), environment)
