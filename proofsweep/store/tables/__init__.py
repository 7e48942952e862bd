"""The tables: their columns, and how rows are made."""
