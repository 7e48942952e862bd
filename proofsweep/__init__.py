"""Batch verification of credentialed audio through a partner's HTTP API (contract 2.4.2)."""

__version__ = "0.1.0"
