"""Which events somebody should hear of, and how they hear: `events` (pure) first, then `notifier` and `receivers`."""
