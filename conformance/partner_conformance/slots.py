"""Slots: what POST /uploads returns, and the forms that fill them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from partner_conformance.replies import Reply

Form = list[tuple[str, bytes | str]]
"""The fields of a form in their order; `bytes` are the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A slot from POST /uploads; its URL and fields are secrets."""

    upload_id: str
    url: str = field(repr=False)
    fields: Mapping[str, str] = field(repr=False)
    reply: Reply

    def form(self, audio: bytes) -> Form:
        """Return the form that the contract requires: all fields, then the file."""
        return [*self.fields.items(), ("file", audio)]


def is_stored(status: int) -> bool:
    """Return whether a status means that the storage stored the audio: only 2xx does."""
    return 200 <= status < 300  # noqa: PLR2004 - HTTP


def is_storage_failure(status: int) -> bool:
    """Return whether the storage failed or was too busy: then a fresh slot may succeed."""
    return status >= 500 or status in {408, 429}  # noqa: PLR2004 - HTTP
