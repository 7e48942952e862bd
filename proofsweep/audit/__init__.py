"""Holds the store against its receipts (`store`, then `check`), and removes what is old: `prune`."""
