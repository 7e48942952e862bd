"""Which events somebody should hear of, and how they hear: `events`, `messages`, `rules` (pure), `facts`, then `send`.

`ends` gathers what is told of a flow, a run or a pass; `check` and `monitor` look from outside.
"""
