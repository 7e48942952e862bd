"""Names of files that are made for somebody: of a supplier, or of another value of a tag. Pure."""

import hashlib
import re

# Chosen: file systems allow 255 bytes, and a name has an ending and a prefix; half cuts names that people know.
_LONGEST = 80


def file_name_of(value: str) -> str:
    """Name a file after a value; one with other characters gets a digest, so that no two are the same."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", value).lstrip(".")[:_LONGEST]
    if plain == value and plain:
        return plain
    return f"{plain or 'supplier'}-{hashlib.sha256(value.encode('utf-8', 'replace')).hexdigest()[:8]}"
