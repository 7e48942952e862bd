"""Which events somebody should hear of, and how they hear: `events` (pure) first, then `notifier` and `receivers`.

`ends` gathers what is told of a flow, a run or a pass; `check` and `monitor` look from outside.
"""
