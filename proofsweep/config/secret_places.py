"""Where a setting says that a secret is kept, as it may be shown: a person may have put the secret itself there."""

import os
import re
from pathlib import Path

_BETWEEN_WORDS = re.compile(r"[-_. ]+")
_WORD = re.compile(r"[a-z]{1,20}|[A-Z]{1,20}|[A-Z][a-z]{1,19}|[0-9]{1,8}|[A-Za-z0-9]{0,4}")
"""A word of a name that a person gives; a secret is longer, and mixes letters with digits."""


def shown_name(name: str, setting: str, *, is_there: bool = False) -> str:
    """Return a name for a message; `that <setting> names` if nothing has it, and it may be a secret."""
    if is_there or _is_name(name):
        return name
    return f"that {setting} names"


def shown_file(path: Path, setting: str) -> str:
    """Return a path for a message, likewise. Each part of it that is not there must look like a name."""
    above, missing = path, list[str]()
    while not os.path.lexists(above) and above != above.parent:
        missing.append(above.name)
        above = above.parent
    if not all(map(_is_name, missing)):
        return f"that {setting} names"
    return str(path)


def _is_name(text: str) -> bool:
    return all(_WORD.fullmatch(word) for word in _BETWEEN_WORDS.split(text))
