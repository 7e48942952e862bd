"""The results store: immutable objects in a folder or a bucket, and the only state of a run.

Plans, rows and receipts enter; parts of tables, leases and what is known of earlier answers leave. Read `objects`
(created once), `layout` (their names), `tables` and `rows`, then `parts`, `journal` and `lease`; `runs` and the base of
`latest` are derived and can be made again.
"""
