"""The columns of recovered sidecars."""

from proofsweep.store.tables.recoveries import COLUMNS


def test_a_recovery_holds_digests_and_no_sidecar() -> None:
    """The bytes go to their place alone."""
    assert [column.name for column in COLUMNS if column.name.endswith("sha256")] == ["sidecar_sha256", "local_sha256"]
    assert not any(column.kind == "binary" for column in COLUMNS)
