"""Files themselves, here and in buckets. In: a location. Out: facts, bytes, names, and each file moved whole.

What a list, a folder or a message says of files is `sources`, which stands on this room; here nobody knows rows. Read
`files` (the one door, and what is true of each kind), then `local_files` and `bucket_files`. `folder_listing` says what
a walk gives and leaves out, `names`, `formats` and `audio` what names and bytes mean, `moving` how a file is moved so
that none is lost, and `presence` whether a file is missing or only its share is away.
"""
