"""What runs: one Prefect flow per file, each to be read like a table of contents."""
