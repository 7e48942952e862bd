SELECT * FROM store.probes WHERE list_contains(getvariable('environments'), environment)
