"""The one definition of each answer about a results store: `views`, and what is read through them. No HTML here.

A store's `Results` enter, values leave. Read `views`, `tables` (below them) and `connection` first, then `status` (of
runs), `changes`, `selected_rows` and `search`; `page_facts` are what the pages show.
"""
