"""Append-only logs for the operator: every exchange, and every secret."""

import json
import sqlite3


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
        """Record one secret before it is given out."""
        self._database.execute("INSERT INTO secrets VALUES (?)", (value,))

    def all(self) -> list[str]:
        """Return each secret: keys, sidecars, asset URLs, slot URLs and the slots' own fields."""
        rows = self._database.execute("SELECT value FROM secrets UNION ALL SELECT secret FROM keys")
        secrets = [str(row["value"]) for row in rows]
        for url, fields in self._database.execute("SELECT url, fields FROM slots"):
            secrets += [url, *(json.loads(fields)[name] for name in ("key", "policy", "x-amz-signature"))]
        return secrets
