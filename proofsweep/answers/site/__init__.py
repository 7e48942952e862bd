"""The site: the catalog, its nights, and a look-up of any file, as static files that open without a server.

`update_site` first, which has the steps; then `lookup` (what has changed), and `levels` (how it is written).
"""
