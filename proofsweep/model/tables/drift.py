"""The `drift` table: one row for each name that a leg's answers held and the contract does not name."""

from proofsweep.model.tables.columns import INT, SMALL, TEXT, TIME, Column, Table

COLUMNS = (
    Column("run_id", TEXT, "the run", nullable=False),
    Column("leg", SMALL, "the leg of the run", nullable=False),
    Column("environment", TEXT, "label of the service's environment", nullable=False),
    Column("call", TEXT, "the call whose answers hold it", nullable=False),
    Column("kind", TEXT, "verdict, error_code or field", nullable=False),
    Column("name", TEXT, "the unknown verdict or code, or the field's name, at most 60 letters; never a value", False),
    Column("answers", INT, "answers of this leg that hold it", nullable=False),
    Column("first_seen_at", TIME, "when the first of these calls began", nullable=False),
    Column("first_request_id", TEXT, "X-Request-Id of the first of these calls"),
)

TABLE = Table(
    name="drift",
    meaning="What the answers of each leg held that the contract does not name: verdicts, error codes and "
    "response fields, by name.",
    columns=COLUMNS,
    written_by="leg",
)
