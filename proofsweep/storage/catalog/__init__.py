"""Catalogs of many files: manifests and folders, read as rows."""
