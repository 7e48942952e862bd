"""Check that the records are as they were written, and prune what is old.

A results store comes in; an `Audit` leaves, which names what was changed, or a `Prunable`, which says what can go.
"""
