"""One attempt at a run, from claim to receipt."""
