"""The sandbox's state: keys, meters, proofs, slots and logs, in one SQLite file."""
