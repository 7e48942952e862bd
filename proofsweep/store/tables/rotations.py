"""The `rotations` table: one row for each rotation of a key that the service has answered."""

from proofsweep.store.tables.columns import FLAG, TEXT, TIME, Column, Table

COLUMNS = (
    Column("operation_id", TEXT, "the rotation; its calls are in `exchanges` under this ID", nullable=False),
    Column("environment", TEXT, "label of the service's environment", nullable=False),
    Column("key_fingerprint", TEXT, "12 hex digits of the key that was rotated, as in `runs`", nullable=False),
    Column("new_key_fingerprint", TEXT, "12 hex digits of the new key", nullable=False),
    Column("requested_at", TIME, "when the rotation was begun, before its first call", nullable=False),
    Column("answered_at", TIME, "when the new key had come", nullable=False),
    Column("key_id", TEXT, "ID of the key that was rotated; null unless an earlier row of this table names it"),
    Column("new_key_id", TEXT, "ID of the new key; null if only the key itself was kept from an interrupted rotation"),
    Column("new_key_name", TEXT, "name of the new key"),
    Column("previous_key_expires_at", TIME, "when the old key ends, as the service said"),
    Column("replayed", FLAG, "whether the answer was a replay of an earlier one", nullable=False),
    Column("request_id", TEXT, "X-Request-Id of the answer"),
)

TABLE = Table(
    name="rotations",
    meaning="One row for each rotation of an API key: the IDs of both keys, when the old one ends, and the "
    "request ID; never a key.",
    columns=COLUMNS,
    written_by="operation",
)
