"""Names of files that are made for somebody: of a supplier, or of another value of a tag. Pure."""

import hashlib
from unicodedata import category, normalize

# Chosen: file systems allow 255 bytes, and a name has an ending and a prefix; half cuts names that people know.
_LONGEST_BYTES = 120


def file_name_of(value: str) -> str:
    """Name a file after a value; one with other characters gets a digest, so that no two are the same.

    Letters, marks and digits of every script stay: a supplier is found by its name.
    """
    kept = "".join(letter if _may_stay(letter) else "_" for letter in normalize("NFC", value)).lstrip(".")
    plain = kept.encode()[:_LONGEST_BYTES].decode(errors="ignore")
    if plain == value and plain:
        return plain
    return f"{plain or 'supplier'}-{hashlib.sha256(value.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _may_stay(letter: str) -> bool:
    return letter in "._-" or category(letter)[0] in "LMN"
