"""What lists of checksums say of a catalog's files: named lists, lists beside the audio, and bags.

Read `list_lines` (pure), `read_list`, `declared_files` (where all of them meet the rows), and `bags`.
"""
