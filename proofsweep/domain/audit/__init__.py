"""What an audit decides: hash trees over rows, what is wrong, and what a redaction may change. Pure."""
