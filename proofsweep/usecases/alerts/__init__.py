"""Gather the facts from which alerts are decided, and see that each cause is told once."""
