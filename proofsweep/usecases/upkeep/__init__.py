"""Keep what is derived from a results store: the index of runs and the snapshot of newest answers."""
