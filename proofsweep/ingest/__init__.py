"""A watched folder: look, let files settle, verify, move.

Read `watched_folder`, `ingest_pass` (the steps), `look`, `dispose` and `records`.
"""
