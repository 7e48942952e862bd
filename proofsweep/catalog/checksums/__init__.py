"""What lists of checksums say of a catalog's files: named lists, lists beside the audio, and bags.

Read `lists` (lines, names and bags), then `declared_files`, where all of them meet the rows.
"""
