-- One row for each row of a catalog and each run.
SELECT * EXCLUDE (filename) /* screening columns */ FROM store.verdicts WHERE list_contains(getvariable('environments'), environment)
