"""What is written: plans, legs, the journal and the parts of the tables."""
