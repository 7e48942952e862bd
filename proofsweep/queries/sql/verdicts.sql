SELECT * EXCLUDE (filename), coalesce(relative_path, audio) AS file /* tag columns */
FROM store.verdicts
WHERE list_contains(getvariable('environments'), environment)
