-- What GET /partner/usage said of a UTC day, each time that it was asked.
SELECT DISTINCT * FROM store.usage WHERE list_contains(getvariable('environments'), environment)
