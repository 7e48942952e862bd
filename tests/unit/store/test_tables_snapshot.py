"""The snapshot has columns of `verdicts`, as they are there."""

from proofsweep.store.tables import snapshot, verdicts


def test_columns_are_those_of_verdicts() -> None:
    """A query of one can be made of the other."""
    assert set(snapshot.COLUMNS) < set(verdicts.COLUMNS)
