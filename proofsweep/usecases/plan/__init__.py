"""Before a run: what a catalog holds, what it will cost, and the plan."""
