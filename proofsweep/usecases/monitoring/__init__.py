"""Monitoring: probe the service, keep what it said, and find what must be told."""
