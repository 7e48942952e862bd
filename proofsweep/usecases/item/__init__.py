"""One item, from its file to its outcome."""
