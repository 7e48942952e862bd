"""The way of a row: `plan` a run, claim a `leg` of it, verify each `item`, settle.

`control` decides whose fault a strange outcome is, `budget` whether another item may begin.
"""
