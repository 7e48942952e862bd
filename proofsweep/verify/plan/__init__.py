"""Plans a run: which rows, in which shards, and what it will take. In: a catalog. Out: a plan in the results store.

Read `plan_run`, `due_rows`, `survey` and `history`.
"""
