"""The storage target: another origin than the API, with its own request IDs, statuses and error bodies."""
