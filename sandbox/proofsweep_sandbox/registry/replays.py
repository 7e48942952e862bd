"""Completed rotations: a client that lost the answer gets it again."""

import json
import sqlite3
from dataclasses import dataclass

# Contract, Limits: idempotency replay window.
REPLAY_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """One completed rotation: the calling key, the digest of the body (lowercase hex), and the answer's members."""

    key_id: str
    body_sha256: str
    answer: dict[str, object]


class Replays:
    """Completed rotations of all tenants."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def find(self, tenant: str, idempotency_key: str, now: int) -> Replay | None:
        """Return the tenant's rotation with this Idempotency-Key within the replay window, if there is one."""
        row = self._database.execute(
            "SELECT key_id, body_sha256, answer FROM replays"
            " WHERE tenant = ? AND idempotency_key = ? AND completed_at > ? ORDER BY completed_at DESC",
            (tenant, idempotency_key, now - REPLAY_SECONDS),
        ).fetchone()
        if row is None:
            return None
        return Replay(key_id=row["key_id"], body_sha256=row["body_sha256"], answer=json.loads(row["answer"]))

    def add(self, tenant: str, idempotency_key: str, replay: Replay, now: int) -> None:
        """Store a completed rotation."""
        self._database.execute(
            "INSERT INTO replays VALUES (?, ?, ?, ?, ?, ?)",
            (replay.key_id, tenant, idempotency_key, replay.body_sha256, now, json.dumps(replay.answer)),
        )
