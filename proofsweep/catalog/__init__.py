"""Reads a catalog: a manifest, manifests, a folder or a bucket. In: a location. Out: work items, nothing dropped.

Read `catalog` (what every kind is, and how rows are made), `open_catalog` (where kinds are registered), `manifests` and
`folder_scan`, then `row_choice`, `pairing` and `preflight`; the last two are pure. A cell of a manifest goes through
`manifest_formats` (with `encodings` and `workbook`), `columns` and `cell_locations`. `deliveries` takes folders with
DDEX messages; `checksums` has what lists say of the bytes of files.
"""
