"""The nouns of a batch verification, and the names of what is written. Pure: no disk, network, clock or thread.

Read `items`, `outcomes` and `reasons` for one file, `runs` and `run_records` for one run, `exchanges` for one HTTP
exchange, `layout` for the names of objects, and `tables` for the columns of each table.
"""
