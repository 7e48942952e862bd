"""The views: one SQL file for each in `sql`, and how a store's parts become their tables in DuckDB."""
