"""Reads a catalog: a manifest, manifests, a folder or a bucket. In: a location. Out: work items, nothing dropped.

Read `open_catalog`, `manifests` and `folder_scan` (each a kind of catalog), then `pairing` and `preflight`, which are
pure.
"""
