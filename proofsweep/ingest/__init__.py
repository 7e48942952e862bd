"""A watched folder: look, let files settle, verify, move, write letters to suppliers.

Read `watched_folder`, `ingest_pass` (the steps), `look`, `dispose` and `records`.
"""
