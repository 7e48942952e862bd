"""Buckets, opened by the usual means of each cloud, and what their failures mean."""
