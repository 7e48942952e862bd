"""What somebody must be told: facts in, alerts out. Pure."""
