-- What the answers of each leg held that the contract does not name: verdicts, error codes and response fields, by name.
SELECT * FROM store.drift WHERE list_contains(getvariable('environments'), environment)
