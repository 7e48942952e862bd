"""What a delivery says of a file's bytes: their number, and their digests. Pure."""

import base64
import binascii
import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

ALGORITHMS: Final = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")
"""The algorithms that are compared, by the names that Python's hashlib gives them, the weakest first."""

_LEAST_IN_KILOBYTES: Final = 65_536  # the smallest file whose size may be declared in kilobytes

_SAME: Final = {"sha": "sha1", "sha2": "sha256"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What a message, a checksum list or a bag says of one file."""

    size_bytes: int | None = None  # None if it says none
    # in lower-case hex, by algorithm, one of `ALGORITHMS`.
    digests: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __bool__(self) -> bool:
        return self.size_bytes is not None or bool(self.digests)

    @property
    def strongest(self) -> tuple[str, str] | None:
        """Return the algorithm and the digest that are compared; None if no digest is declared."""
        found = [name for name in ALGORITHMS if name in self.digests]
        return (found[-1], self.digests[found[-1]]) if found else None

    def is_size(self, size_bytes: int) -> bool:
        """Whether a file of so many bytes has the declared size, in bytes or, as the standard says, in kilobytes."""
        if self.size_bytes in {None, size_bytes} or size_bytes < _LEAST_IN_KILOBYTES:
            return self.size_bytes in {None, size_bytes}
        kilobytes = (size_bytes / unit for unit in (1_000, 1_024))
        return self.size_bytes in {way(each) for each in kilobytes for way in (math.floor, round, math.ceil)}

    def with_others(self, other: "Declared") -> "Declared":
        """Return this, and what another list says beyond it."""
        size_bytes = other.size_bytes if self.size_bytes is None else self.size_bytes
        return Declared(size_bytes=size_bytes, digests={**other.digests, **self.digests})


def algorithm_named(name: str) -> str | None:
    """Return the algorithm of a name as lists write it, such as `SHA-256`; None if it is not compared."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    plain = re.sub(r"^sha2(?=\d{3}$)", "sha", plain)  # OpenSSL's SHA2-256
    plain = _SAME.get(plain, plain)
    return plain if plain in ALGORITHMS else None


def hex_digest(algorithm: str, written: str) -> str | None:
    """Return a digest, written in hex or base64, in lower-case hex; None if it is no digest of the algorithm."""
    length, text = hashlib.new(algorithm, usedforsecurity=False).digest_size, "".join(written.split())
    if re.fullmatch(rf"[0-9a-fA-F]{{{2 * length}}}", text):
        return text.lower()
    try:
        content = base64.b64decode(text, altchars=b"-_" if set("-_") & set(text) else None, validate=True)
    except (binascii.Error, ValueError):
        return None
    return content.hex() if len(content) == length else None


def declared_json(declared: Declared | None) -> str | None:
    if not declared:
        return None
    size = {} if declared.size_bytes is None else {"size_bytes": declared.size_bytes}
    return json.dumps({**size, **declared.digests})


def declared_from(text: str | None) -> Declared | None:
    if text is None:
        return None
    facts = json.loads(text)
    return Declared(size_bytes=facts.pop("size_bytes", None), digests=facts)
