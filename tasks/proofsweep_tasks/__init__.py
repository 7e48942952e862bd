"""Where Prefect meets the core: each task is one call of the core."""
