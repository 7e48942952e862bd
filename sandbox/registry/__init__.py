"""The sandbox's records: keys, meters, proofs, slots and exchanges, in one SQLite file."""
