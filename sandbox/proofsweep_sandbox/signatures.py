"""Keyed signatures of forms, links and cursors."""

import hashlib
import hmac
import secrets
from pathlib import Path
from typing import Self

from proofsweep_sandbox.answers import malformed


class Signatures:
    """Signs text with a secret that never leaves the sandbox."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    @classmethod
    def kept(cls, file: Path) -> Self:
        """Use the secret in `file`; create it on first use."""
        if not file.exists():
            file.touch(mode=0o600)
            file.write_bytes(secrets.token_bytes(32))
        return cls(file.read_bytes())

    def sign(self, purpose: str, text: str) -> str:
        """Return a signature in lowercase hex."""
        # The purpose is signed too: else a cursor could be given as the signature of a form.
        message = f"{purpose}\n{text}".encode()
        return hmac.new(self._secret, message, hashlib.sha256).hexdigest()

    def accepts(self, purpose: str, text: str, signature: str) -> bool:
        own = self.sign(purpose, text)
        return hmac.compare_digest(own.encode(), signature.encode())

    def cursor(self, listing: str, position: list[int]) -> str:
        """Return an opaque cursor for a position in a listing."""
        text = "-".join(map(str, position))
        signature = self.sign(listing, text)[:16]
        return f"{text}-{signature}"

    def position(self, listing: str, cursor: str | None) -> list[int] | None:
        """Return the position of a cursor, or None without one; raise a 400 for a cursor that is not this listing's."""
        if cursor is None:
            return None
        text, _, signature = cursor.rpartition("-")
        # The listing is signed with it: a cursor of one tenant's proofs must not page through another's.
        own = self.sign(listing, text)[:16]
        if not hmac.compare_digest(own.encode(), signature.encode()):
            raise malformed("the cursor is not from this listing")
        return list(map(int, text.split("-")))
