"""Many files: manifests, scans and listings, as rows."""
