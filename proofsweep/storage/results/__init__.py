"""The results store: plans, legs, the journal and the parts of the tables."""
