"""What analysts and operators look at: how a run stands, and what to do about its rows."""
