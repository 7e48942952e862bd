"""Facts as text, Markdown, JSON, HTML, CSV and Excel: what people read. No SQL here.

Read `run` (a run in words), `pages` (HTML), `export` with `sheets` and `letters`, and `explain`.
"""
