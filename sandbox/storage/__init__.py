"""The storage target: another origin than the API, with its own request ids, statuses and error bodies."""
