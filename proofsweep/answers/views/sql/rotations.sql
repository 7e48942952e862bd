-- One row for each rotation of an API key: the IDs of both keys, when the old one ends, and the request ID; never a key.
SELECT * FROM store.rotations WHERE list_contains(getvariable('environments'), environment)
