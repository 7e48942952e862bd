"""Tenants, their API keys, and completed rotations."""

import json
import secrets
import sqlite3
from dataclasses import dataclass, field

# Contract, Limits: key grace window after rotation, idempotency replay window.
GRACE_SECONDS = 72 * 3600
_REPLAY_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One API key; `meter` names the meter that counts its calls.

    `expires_at` (unix seconds) is set by rotation. A real service keeps a digest of the secret; this one keeps the
    secret itself, so that the operator can search a client's records for it.
    """

    seq: int
    key_id: str
    tenant: str
    meter: str
    name: str
    secret: str = field(repr=False)
    expires_at: int | None

    def status(self, now: float) -> str:
        if self.expires_at is None:
            return "active"
        return "grace" if now < self.expires_at else "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """One completed rotation: the calling key, the digest of the body (lowercase hex), and the answer's members."""

    key_id: str
    body_sha256: str
    answer: dict[str, object] = field(repr=False)


class Keys:
    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def add_tenant(self, name: str, quota: int, secret: str = "") -> Key:
        """Create a tenant with a monthly quota and return its first key, with the given secret or a new one."""
        tenant = f"tnt_{secrets.token_hex(6)}"
        meter = f"mtr_{secrets.token_hex(6)}"
        self._database.execute("INSERT INTO tenants VALUES (?, ?)", (tenant, name))
        self._database.execute("INSERT INTO meters VALUES (?, ?)", (meter, quota))
        return self._mint(tenant, meter, name, secret)

    def first_tenant(self) -> str | None:
        row = self._database.execute("SELECT tenant FROM tenants ORDER BY rowid LIMIT 1").fetchone()
        return None if row is None else str(row["tenant"])

    def rotate(self, old: Key, now: int) -> Key:
        """Create a key that replaces `old`, whose grace window begins."""
        self._database.execute("UPDATE keys SET expires_at = ? WHERE seq = ?", (now + GRACE_SECONDS, old.seq))
        # Both use the same meter, so a rotation does not reset the quota.
        return self._mint(old.tenant, old.meter, old.name)

    def by_secret(self, secret: str) -> Key | None:
        row = self._database.execute("SELECT * FROM keys WHERE secret = ?", (secret,)).fetchone()
        return None if row is None else Key(**row)

    def of_tenant(self, tenant: str) -> list[Key]:
        rows = self._database.execute("SELECT * FROM keys WHERE tenant = ? ORDER BY seq", (tenant,))
        return [Key(**row) for row in rows]

    def replay(self, tenant: str, idempotency_key: str, now: int) -> Replay | None:
        """Return the tenant's rotation with this Idempotency-Key within the replay window, if there is one."""
        row = self._database.execute(
            "SELECT key_id, body_sha256, answer FROM replays"
            " WHERE tenant = ? AND idempotency_key = ? AND completed_at > ? ORDER BY completed_at DESC",
            (tenant, idempotency_key, now - _REPLAY_SECONDS),
        ).fetchone()
        if row is None:
            return None
        answer = json.loads(row["answer"])
        return Replay(key_id=row["key_id"], body_sha256=row["body_sha256"], answer=answer)

    def keep_replay(self, tenant: str, idempotency_key: str, replay: Replay, now: int) -> None:
        """Store a completed rotation: a client that lost the answer gets it again."""
        answer = json.dumps(replay.answer)
        self._database.execute(
            "INSERT INTO replays VALUES (?, ?, ?, ?, ?, ?)",
            (replay.key_id, tenant, idempotency_key, replay.body_sha256, now, answer),
        )

    def _mint(self, tenant: str, meter: str, name: str, secret: str = "") -> Key:
        key_id = f"key_{secrets.token_hex(6)}"
        secret = secret or f"sk_sandbox_{secrets.token_urlsafe(24)}"
        row = self._database.execute(
            "INSERT INTO keys (key_id, tenant, meter, name, secret) VALUES (?, ?, ?, ?, ?) RETURNING *",
            (key_id, tenant, meter, name, secret),
        ).fetchone()
        return Key(**row)
