"""Our own nouns, pure: from a manifest row to a row of the tables, with every decision on the way."""
