"""Tenants and their API keys."""

import secrets
import sqlite3
from dataclasses import dataclass, field

# Contract, Limits: key grace window after rotation.
GRACE_SECONDS = 72 * 3600


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

    @property
    def is_in_grace(self) -> bool:
        """Whether this key has been rotated."""
        return self.expires_at is not None

    def status(self, now: float) -> str:
        """Return `active`, `grace` or `expired`."""
        if self.expires_at is None:
            return "active"
        return "grace" if now < self.expires_at else "expired"


class Keys:
    """The keys of all tenants, and the append-only log of rotations and expiries."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def add_tenant(self, name: str, quota: int, secret: str = "") -> Key:
        """Create a tenant and return its first key, with the given secret or a new one."""
        tenant = f"tnt_{secrets.token_hex(6)}"
        self._database.execute("INSERT INTO tenants VALUES (?, ?)", (tenant, name))
        return self.add_key(tenant, name, quota, secret)

    def has_tenant(self, tenant: str) -> bool:
        """Return whether such a tenant exists."""
        found = self._database.execute("SELECT 1 FROM tenants WHERE tenant = ?", (tenant,))
        return found.fetchone() is not None

    def first_tenant(self) -> str | None:
        """Return the tenant that was created first, if there is one."""
        row = self._database.execute("SELECT tenant FROM tenants ORDER BY rowid LIMIT 1").fetchone()
        return None if row is None else str(row["tenant"])

    def add_key(self, tenant: str, name: str, quota: int, secret: str = "") -> Key:
        """Add a key to a tenant, with its own quota in calls per month."""
        meter = f"mtr_{secrets.token_hex(6)}"
        self._database.execute("INSERT INTO meters VALUES (?, ?)", (meter, quota))
        return self._mint(tenant, meter, name, secret)

    def rotate(self, old: Key, now: int) -> Key:
        """Create a key that replaces `old`, whose grace window begins.

        Both use the same meter, so a rotation does not reset the quota.
        """
        self._database.execute("UPDATE keys SET expires_at = ? WHERE seq = ?", (now + GRACE_SECONDS, old.seq))
        new = self._mint(old.tenant, old.meter, old.name)
        self._log(now, "rotated", old, new.key_id)
        return new

    def by_secret(self, secret: str) -> Key | None:
        """Return the key with this secret, also an expired one."""
        row = self._database.execute("SELECT * FROM keys WHERE secret = ?", (secret,)).fetchone()
        return None if row is None else Key(**row)

    def of_tenant(self, tenant: str) -> list[Key]:
        """Return all keys of a tenant, oldest first."""
        rows = self._database.execute("SELECT * FROM keys WHERE tenant = ? ORDER BY seq", (tenant,))
        return [Key(**row) for row in rows]

    def log(self, now: int) -> list[dict[str, object]]:
        """Return rotations and expiries, oldest first."""
        self._log_expiries(now)
        rows = self._database.execute("SELECT at, event, tenant, key_id, next_key_id FROM key_log ORDER BY at, seq")
        return [dict(row) for row in rows]

    def _mint(self, tenant: str, meter: str, name: str, secret: str = "") -> Key:
        key_id, secret = f"key_{secrets.token_hex(6)}", secret or f"sk_sandbox_{secrets.token_urlsafe(24)}"
        row = self._database.execute(
            "INSERT INTO keys (key_id, tenant, meter, name, secret) VALUES (?, ?, ?, ?, ?) RETURNING *",
            (key_id, tenant, meter, name, secret),
        ).fetchone()
        return Key(**row)

    def _log_expiries(self, now: int) -> None:
        due = self._database.execute(
            "SELECT * FROM keys WHERE expires_at <= ?"
            " AND key_id NOT IN (SELECT key_id FROM key_log WHERE event = 'expired')",
            (now,),
        )
        for row in due.fetchall():
            key = Key(**row)
            self._log(key.expires_at or now, "expired", key, None)

    def _log(self, at: int, event: str, key: Key, next_key_id: str | None) -> None:
        self._database.execute(
            "INSERT INTO key_log (at, event, tenant, key_id, next_key_id) VALUES (?, ?, ?, ?, ?)",
            (at, event, key.tenant, key.key_id, next_key_id),
        )
