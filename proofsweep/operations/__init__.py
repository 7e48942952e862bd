"""The partner's other endpoints, as runs of another kind: keys, proofs, erasure, interpretations.

Each operation holds a lease and writes a log and a receipt: read `operation` first.
"""
