-- One row for each sidecar that a recovery compared with the sealed one, or wrote again.
SELECT * FROM store.recoveries WHERE list_contains(getvariable('environments'), environment)
