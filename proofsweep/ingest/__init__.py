"""A drop folder. In: files that arrive. Out: an ordinary run of those that are ready, and each file in its place.

Read `rules` and `deliveries` (pure), `scan` (what lies there), `watched_folder`, `one_pass` (the steps), `move`,
`disposal`, `state`, `pass_report`.
"""
