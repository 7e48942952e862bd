"""A key that is in a Prefect Secret block is rotated there."""

import pytest

from ..worlds.sandbox_world import SandboxWorld


def test_a_key_in_a_block_is_rotated(
    world: SandboxWorld, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The new key is in the block, and no other block is left; no output shows it."""
    from prefect.blocks.system import Secret  # noqa: PLC0415 - Prefect reads the environment on import

    from proofsweep_tasks.key_block import read_block  # noqa: PLC0415 - the same

    name, old = f"key-{world.tenant.replace('_', '-').lower()}", world.key_file.read_text()
    Secret(value=old).save(name, overwrite=True)  # type: ignore[unused-coroutine]
    monkeypatch.delenv("PROOFSWEEP_SERVICE__API_KEY_FILE")
    monkeypatch.setenv("PROOFSWEEP_SERVICE__API_KEY_BLOCK", name)

    code = world.run("keys", "rotate", "--yes")

    new, row, said = read_block(name), world.table("rotations")[0], "".join(capsys.readouterr())
    assert code == 0
    assert new != old
    assert row["new_key_id"] in said
    assert new not in said
    with pytest.raises(ValueError, match="Unable to find block document"):
        Secret.load(f"{name}-new")
