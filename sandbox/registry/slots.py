"""Upload slots: what was handed out, and whether audio has arrived."""

import json
import sqlite3
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One presigned form; `token` is the last segment of its URL and the name of the stored audio.

    `sha256` is set once audio has arrived.
    """

    upload_id: str
    token: str
    tenant: str
    url: str
    fields: dict[str, str]
    expires_at: int
    sha256: str | None = None

    @classmethod
    def of(cls, row: sqlite3.Row) -> Self:
        """Read a slot from its row."""
        return cls(**{**dict(row), "fields": json.loads(row["fields"])})


class Slots:
    """The slots of all tenants."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def add(self, slot: Slot) -> None:
        """Remember a slot that is about to be handed out."""
        self._database.execute(
            "INSERT INTO slots (upload_id, token, tenant, url, fields, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
            (slot.upload_id, slot.token, slot.tenant, slot.url, json.dumps(slot.fields), slot.expires_at),
        )

    def by_token(self, token: str) -> Slot | None:
        """Return the slot that a form is posted to."""
        row = self._database.execute("SELECT * FROM slots WHERE token = ?", (token,)).fetchone()
        return None if row is None else Slot.of(row)

    def by_upload(self, tenant: str, upload_id: str) -> Slot | None:
        """Return a tenant's slot by the id that verify quotes."""
        row = self._database.execute(
            "SELECT * FROM slots WHERE upload_id = ? AND tenant = ?", (upload_id, tenant)
        ).fetchone()
        return None if row is None else Slot.of(row)

    def fill(self, slot: Slot, sha256: str) -> None:
        """Note that audio with this digest (lowercase hex) is stored for the slot."""
        self._database.execute("UPDATE slots SET sha256 = ? WHERE upload_id = ?", (sha256, slot.upload_id))

    def forget_older(self, than: float) -> list[str]:
        """Drop the uploads of slots that expired before `than`; return their tokens, whose files can go."""
        rows = self._database.execute(
            "UPDATE slots SET sha256 = NULL WHERE expires_at < ? AND sha256 IS NOT NULL RETURNING token", (than,)
        )
        return [str(row["token"]) for row in rows.fetchall()]
