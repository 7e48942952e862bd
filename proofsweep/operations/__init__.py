"""The partner's other endpoints, as runs of other kinds: erase proofs, list them, refresh notes, recover sidecars.

Each begins a leg (`operation.py`), asks one thing after the other, and gives a row for each to its kind's table; lease,
journal, parts and receipt are those of every run. To rotate the key is one call with a table of steps (`rotate.py`).
"""
