-- One row for each proof that the service was asked to erase, and what it answered; a repeat is a row of its own.
SELECT * FROM store.erasures WHERE list_contains(getvariable('environments'), environment)
