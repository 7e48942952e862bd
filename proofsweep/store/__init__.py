"""The results store: immutable objects in a folder or a bucket, and the only state of a run.

Read `store` (objects, created once), `plans_and_parts`, `journal`, `legs` and `lease`, `receipts`, then what is
derived: `run_index` and `snapshot`.
"""
