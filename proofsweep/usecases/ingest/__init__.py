"""Watched folders: what is delivered there is verified once, and moved by its verdict."""
