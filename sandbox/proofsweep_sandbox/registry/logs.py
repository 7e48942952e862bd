"""Append-only logs for the operator: every exchange, and every secret."""

import json
import sqlite3


class ExchangeLog:
    """The exchanges: each request ID with its call and its status."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def add(
        self,
        *,
        at: float,
        origin: str,
        call: str,
        status: int | None,
        request_id: str,
        tenant: str | None,
        charged: bool,
    ) -> None:
        """Record one exchange; a null status means that the connection broke before any header was sent."""
        self._database.execute(
            "INSERT INTO exchanges (at, origin, call, status, request_id, tenant, charged)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (at, origin, call, status, request_id, tenant, charged),
        )

    def after(self, seq: int) -> list[dict[str, object]]:
        """Return the exchanges with a higher sequence number than `seq`, oldest first."""
        rows = self._database.execute("SELECT * FROM exchanges WHERE seq > ? ORDER BY seq", (seq,))
        return [dict(row) for row in rows]


class SecretLog:
    """The values that a client's logs, tables and files must never contain."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def add(self, kind: str, value: str) -> None:
        """Record one secret before it is given out."""
        self._database.execute("INSERT INTO secrets VALUES (?, ?)", (kind, value))

    def all(self) -> list[dict[str, str]]:
        """Return kind and value of each secret: keys, sidecars, asset URLs, slot URLs and the slots' own fields."""
        query = "SELECT kind, value FROM secrets UNION ALL SELECT 'api_key', secret FROM keys"
        return [dict(row) for row in self._database.execute(query)] + self._of_slots()

    def _of_slots(self) -> list[dict[str, str]]:
        found = []
        for row in self._database.execute("SELECT url, fields FROM slots"):
            fields = json.loads(row["fields"])
            found.append({"kind": "slot_url", "value": str(row["url"])})
            found += [{"kind": f"slot_{name}", "value": fields[name]} for name in ("key", "policy", "x-amz-signature")]
        return found
