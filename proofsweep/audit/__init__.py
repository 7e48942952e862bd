"""Holds the store against its receipts, and removes what is old: `prune`.

Read `audit_store` and `audit_run`, then `prune`.
"""
