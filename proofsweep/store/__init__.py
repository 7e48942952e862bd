"""The results store: immutable objects in a folder or a bucket, and the only state of a run.

Read `objects` (created once), `layout` (their names), `tables`, then `parts`, `journal`, `lease` and `legs`; `runs` and
`snapshot` are derived and can be made again.
"""
