SELECT * EXCLUDE (filename) /* screening columns */ FROM store.verdicts WHERE list_contains(getvariable('environments'), environment)
