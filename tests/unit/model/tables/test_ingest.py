"""The table `ingest` as it is declared."""

from proofsweep.model.tables import ingest
from proofsweep.model.tables.schemas import SCHEMAS


def test_the_schema_has_the_declared_columns_in_their_order() -> None:
    """Every file has the whole schema; only what each row has is not null."""
    required = [column.name for column in ingest.COLUMNS if not column.nullable]

    assert SCHEMAS["ingest"].names == [column.name for column in ingest.COLUMNS]
    assert required == [
        *("run_id", "leg", "environment", "watched", "item_id", "audio", "outcome", "tries", "disposition"),
        "acted_at",
    ]
