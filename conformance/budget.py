"""The calls of what several checks read together. Pure."""

SHARED_CALLS = {"all proofs": 20, "one burst": 600}
"""The most keyed calls for it, once for all checks that share it.

Chosen: 2,000 proofs in pages of 100; a longer list is not read to its end, to save calls. 600 calls in a row to cause a
429: fewer may stay below the throttle, more use more of the quota.
"""
