SELECT * EXCLUDE (filename) /* tag columns */ FROM store.verdicts WHERE list_contains(getvariable('environments'), environment)
