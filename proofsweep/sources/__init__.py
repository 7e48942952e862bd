"""Many files and their bytes. In: a location. Out: manifest rows and work items, nothing dropped, and bytes to send.

Read `catalog` (what every kind is, and how rows are made) and `open_catalog` (which kind lies at a location), then
`manifest`, `folder` and `ddex_delivery`; `preflight` judges a row before any call. `files` are the files themselves, of
this machine and, through `bucket`, in buckets; `names` and `formats` say what names and first bytes mean.
"""
