-- One row for each proof of each inventory: as the service lists it, and how the newest answer agrees with it.
SELECT * FROM store.proofs WHERE list_contains(getvariable('environments'), environment)
