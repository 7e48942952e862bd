"""Where the bytes of the catalog lie: local folders and buckets, read as streams and moved without loss.

Read `locations` (how a place is written), `files` (the door to both kinds), `audio` (what is read of a file) and
`moves`. `local_files` keeps a catalog inside its root.
"""
