"""One module for each table: its columns, their types and meaning, and how a row is made."""
