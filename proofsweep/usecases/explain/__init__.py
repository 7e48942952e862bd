"""Everything that a results store knows about one file."""
