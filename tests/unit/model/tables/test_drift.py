"""The table `drift` as it is declared."""

from proofsweep.model.tables import drift
from proofsweep.model.tables.schemas import SCHEMAS


def test_the_schema_has_the_declared_columns_in_their_order() -> None:
    """Only the request ID may be missing: a service may forget it."""
    assert SCHEMAS["drift"].names == [column.name for column in drift.COLUMNS]
    assert [column.name for column in drift.COLUMNS if column.nullable] == ["first_request_id"]
