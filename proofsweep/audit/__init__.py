"""Holds the store against its receipts, proves rows to others, and removes what must go: `redact`, `prune`.

Read `audit_store` and `audit_run`, then `prove` and `pack_evidence`.
"""
