"""Erase proofs from a list, and record each answer."""
