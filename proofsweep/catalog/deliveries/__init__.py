"""Deliveries as DDEX messages describe them. In: folders of a scan, with XML files. Out: rows, findings and batches.

Read `batches` and `messages` (the nouns), then `deliveries` (what a scan asks), `named_files` (which file is meant) and
`threads` (which message is in force). A message goes through `message_files`, `xml_reader` and `ern`.
"""
