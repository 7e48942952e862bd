"""Whose fault is a strange outcome? A control, a call whose answer is known, decides. `rules` has the rule.

Read `rules` (pure), `control`, `evidence` for what it has seen, and `calls` for the controls themselves.
"""
