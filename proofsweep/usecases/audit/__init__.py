"""Check what was recorded, prove one row of it, and redact one item."""
