"""Deliveries as DDEX messages describe them. In: folders of a scan, with XML files. Out: rows, findings and batches.

Read `messages` and `message_files` (the nouns), then `deliveries` (what a scan asks) and `named_files` (which file is
meant). A message goes through `message_files`, `xml_reader` and `ern`.
"""
