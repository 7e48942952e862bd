"""Our own nouns and decisions, pure: from a manifest row to a row of the tables."""
