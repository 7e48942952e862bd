"""The partner's other endpoints, as operations: erase proofs, list them, refresh notes, recover sidecars, rotate keys.

In: an `OperationContext` and what a person wants. Out: rows in a table of its own, its calls in `exchanges`,
a receipt, and a few figures with the words for them.
"""
