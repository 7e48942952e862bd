"""The sandbox's state: one SQLite file, which survives restarts, with its append-only logs for the operator."""

import json
import sqlite3
from pathlib import Path

_TABLES = """
CREATE TABLE IF NOT EXISTS tenants (tenant TEXT PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS meters (meter TEXT PRIMARY KEY, quota INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS keys (
    seq INTEGER PRIMARY KEY, key_id TEXT UNIQUE NOT NULL, tenant TEXT NOT NULL, meter TEXT NOT NULL,
    name TEXT NOT NULL, secret TEXT UNIQUE NOT NULL, expires_at INTEGER);
CREATE TABLE IF NOT EXISTS replays (
    key_id TEXT NOT NULL, tenant TEXT NOT NULL, idempotency_key TEXT NOT NULL, body_sha256 TEXT NOT NULL,
    completed_at INTEGER NOT NULL, answer TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS usage (
    meter TEXT NOT NULL, day TEXT NOT NULL, used INTEGER NOT NULL, PRIMARY KEY (meter, day));
CREATE TABLE IF NOT EXISTS proofs (
    seq INTEGER PRIMARY KEY, proof_id TEXT UNIQUE NOT NULL, tenant TEXT NOT NULL, song TEXT NOT NULL,
    issued_at INTEGER NOT NULL, sealed_by TEXT NOT NULL,
    pending INTEGER NOT NULL, sidecar BLOB NOT NULL, asset TEXT);
CREATE INDEX IF NOT EXISTS proofs_newest ON proofs (tenant, issued_at, seq);
CREATE TABLE IF NOT EXISTS erasures (proof_id TEXT PRIMARY KEY, tenant TEXT NOT NULL, erased_at INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS slots (
    upload_id TEXT PRIMARY KEY, token TEXT UNIQUE NOT NULL, tenant TEXT NOT NULL, url TEXT NOT NULL,
    fields TEXT NOT NULL, expires_at INTEGER NOT NULL, sha256 TEXT);
CREATE INDEX IF NOT EXISTS slots_stored ON slots (expires_at) WHERE sha256 IS NOT NULL;
CREATE TABLE IF NOT EXISTS exchanges (
    seq INTEGER PRIMARY KEY, at REAL NOT NULL, origin TEXT NOT NULL, call TEXT NOT NULL, status INTEGER,
    request_id TEXT NOT NULL, tenant TEXT, charged INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS secrets (value TEXT NOT NULL);
"""


def open_database(file: Path) -> sqlite3.Connection:
    database = sqlite3.connect(file, isolation_level=None)
    database.row_factory = sqlite3.Row
    database.execute("PRAGMA journal_mode = WAL")
    # A power cut may lose the last calls, which is harmless here. Waiting for the disk on every call would be slow.
    database.execute("PRAGMA synchronous = OFF")
    database.executescript(_TABLES)
    return database


class ExchangeLog:
    """The exchanges: each request ID with its call and its status."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def add(self, **exchange: object) -> None:
        """Record one exchange by its columns; a null status means that no header was sent."""
        self._database.execute(
            "INSERT INTO exchanges (at, origin, call, status, request_id, tenant, charged)"
            " VALUES (:at, :origin, :call, :status, :request_id, :tenant, :charged)",
            exchange,
        )

    def after(self, seq: int) -> list[dict[str, object]]:
        """Return the exchanges with a higher sequence number than `seq`, oldest first."""
        rows = self._database.execute("SELECT * FROM exchanges WHERE seq > ? ORDER BY seq", (seq,))
        return [dict(row) for row in rows]


class SecretLog:
    """The values that a client's logs, tables and files must never contain."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def add(self, value: str) -> None:
        self._database.execute("INSERT INTO secrets VALUES (?)", (value,))

    def all(self) -> list[str]:
        """Return each secret: keys, sidecars, asset URLs, slot URLs and the slots' own fields."""
        rows = self._database.execute("SELECT value FROM secrets UNION ALL SELECT secret FROM keys")
        secrets = [str(row["value"]) for row in rows]
        for url, encoded in self._database.execute("SELECT url, fields FROM slots"):
            fields = json.loads(encoded)
            secrets.append(url)
            secrets += [fields["key"], fields["policy"], fields["x-amz-signature"]]
        return secrets
