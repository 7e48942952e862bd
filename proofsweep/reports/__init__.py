"""Facts as text, Markdown, JSON, HTML, CSV and Excel: what people read. No SQL here.

Values of `queries` enter, and text or a written file leaves. Read `run` (a run in words), `pages` with `charts` (HTML),
`export` (lists and letters) with `sheets`, and `explain`, which also writes what the partner's support needs.
"""
