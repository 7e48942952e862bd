-- One row for each process note of each refresh that asked for it. Notes are report-only.
SELECT * FROM store.interpretations WHERE list_contains(getvariable('environments'), environment)
