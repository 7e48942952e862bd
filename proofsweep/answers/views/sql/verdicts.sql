SELECT * EXCLUDE (filename) /* screening columns */ /* tag columns */ FROM store.verdicts WHERE list_contains(getvariable('environments'), environment)
