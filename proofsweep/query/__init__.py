"""Ask a results store: DuckDB over its tables, with views that answer what people ask; each view is a file in `sql`."""
