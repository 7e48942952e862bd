"""Upload slots, and the digests of their audio."""

import json
import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One presigned form; `token` is the last segment of its URL and the file name of the audio.

    `sha256` (lowercase hex) is None until the audio is stored.
    """

    upload_id: str
    token: str
    tenant: str
    url: str
    fields: dict[str, str]
    expires_at: int
    sha256: str | None = None


class Slots:
    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def add(self, slot: Slot) -> None:
        fields = json.dumps(slot.fields)
        self._database.execute(
            "INSERT INTO slots (upload_id, token, tenant, url, fields, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
            (slot.upload_id, slot.token, slot.tenant, slot.url, fields, slot.expires_at),
        )

    def by_token(self, token: str) -> Slot | None:
        return self._found("token = ?", token)

    def by_upload(self, tenant: str, upload_id: str) -> Slot | None:
        return self._found("upload_id = ? AND tenant = ?", upload_id, tenant)

    def fill(self, slot: Slot, sha256: str) -> None:
        """Record that audio with this digest (lowercase hex) is stored in the slot."""
        self._database.execute("UPDATE slots SET sha256 = ? WHERE upload_id = ?", (sha256, slot.upload_id))

    def forget_older(self, than: float) -> list[str]:
        """Forget the audio of slots that expired before `than`; return their tokens, whose files can be deleted."""
        rows = self._database.execute(
            "UPDATE slots SET sha256 = NULL WHERE expires_at < ? AND sha256 IS NOT NULL RETURNING token", (than,)
        )
        return [str(row["token"]) for row in rows.fetchall()]

    def _found(self, where: str, *values: str) -> Slot | None:
        row = self._database.execute(f"SELECT * FROM slots WHERE {where}", values).fetchone()  # noqa: S608 - our own text
        if row is None:
            return None
        members = dict(row)
        members["fields"] = json.loads(row["fields"])
        return Slot(**members)
