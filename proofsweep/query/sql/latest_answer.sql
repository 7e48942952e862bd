-- One row for each item that the service ever answered: its newest answer, also if a later attempt failed.
SELECT * /* screening columns */
FROM store.newest
WHERE list_contains(getvariable('environments'), environment) AND outcome IN ('accepted', 'rejected')
