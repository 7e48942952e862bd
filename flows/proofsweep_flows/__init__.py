"""What runs: one Prefect flow per file, each reads like a table of contents."""
