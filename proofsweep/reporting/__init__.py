"""What analysts and operators read: the status of a run, and what to do about its rows."""
