"""Faults: failures that the operator injects into chosen calls.

To add one: name its kind in `rules.FaultKind`. `responses.py` changes a finished answer; `pipeline.py` applies
the kinds that act before the answer, or on the connection. List it in `docs/sandbox.md`.
"""
