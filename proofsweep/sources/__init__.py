"""What a catalog lists. In: a location. Out: manifest rows and work items, nothing dropped.

Read `catalog` (what every kind is, and how rows are made) and `open_catalog` (which kind lies at a location), then
`manifest`, `folder` and `ddex_delivery`; `preflight` judges a row before any call. The files themselves are the
room `files`.
"""
