-- One row for each leg of a run.
SELECT * FROM store.runs WHERE list_contains(getvariable('environments'), environment)
