"""A watched folder: look, let files settle, verify, move, write letters to suppliers.

Read `ingest_pass` (the steps), `look`, `dispose` and `records`.
"""
