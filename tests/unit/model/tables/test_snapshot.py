"""The snapshot has columns of `verdicts`, as they are there."""

from proofsweep.model.tables import snapshot, verdicts


def test_columns_are_those_of_verdicts() -> None:
    """A query of one can be made of the other."""
    assert set(snapshot.COLUMNS) < set(verdicts.COLUMNS)


def test_what_planning_asks_is_there() -> None:
    """Whether bytes, sidecar or environment changed since the answer, and how old it is."""
    names = {column.name for column in snapshot.COLUMNS}

    assert names >= {
        "item_id",
        "environment",
        "audio_version",
        "audio_sha256",
        "sidecar_sha256",
        "finished_at",
        "outcome",
    }
