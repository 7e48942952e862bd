"""One leg, an attempt at a run, from claim to receipt.

Read `unfinished_runs` (which run goes on), `leg_session` (the steps), `leg_context` (what threads share), `work` (a
slice, an item), `publish` and `settle`.
"""
