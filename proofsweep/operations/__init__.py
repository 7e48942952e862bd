"""The partner's other endpoints: keys, proofs, erasure, interpretations.

Each operation holds a lease and writes a log and a receipt: read `operation_work` first, then `operation_log`.
"""
