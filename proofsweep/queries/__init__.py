"""The one definition of each answer about a results store: `views`, and what is read through them. No HTML here.

Read `connection` and `views` first, then `status` (of a run), `changes`, `attention` and `search`.
"""
