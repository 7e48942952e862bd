"""Open the buckets of each cloud, and tell what their failures mean."""
