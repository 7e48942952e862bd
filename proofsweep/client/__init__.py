"""Speaks HTTP with the partner: one method per endpoint, one retry layer, one place that decides to wait."""
