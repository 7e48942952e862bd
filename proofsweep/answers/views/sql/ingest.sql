-- One row for each delivered file that a pass over a watched folder has verified or moved.
SELECT * FROM store.ingest WHERE list_contains(getvariable('environments'), environment)
