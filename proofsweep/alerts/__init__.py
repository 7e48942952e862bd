"""What somebody should hear of, and how they hear: `rules` (pure), `facts`, then `send`.

`monitor` looks from outside the runs.
"""
