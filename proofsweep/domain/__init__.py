"""The contract's words and our nouns, as every room says them. Pure values; nothing here does anything.

The contract: `models` (its resources), `exchanges` (headers, limits). Ours: `items` (a manifest row, a work item),
`outcomes` (with the verdicts), `reasons`, `runs`, `endings`, `errors`; and `text`, which makes safe what others wrote.
"""
