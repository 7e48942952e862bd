"""The flow rotates a key that is in a Prefect Secret block; Prefect's database shows no key elsewhere."""

import pytest

from ..worlds.sandbox_world import SandboxWorld


def test_a_key_in_a_block_is_rotated(world: SandboxWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new key is in the block, and no other block is left; a wrong environment rotates nothing."""
    from prefect.blocks.system import Secret  # noqa: PLC0415 - Prefect reads the environment on import

    from proofsweep_flows.rotate_key import rotate_key  # noqa: PLC0415 - the same
    from proofsweep_tasks.key_block import read_block  # noqa: PLC0415 - the same

    name, old = f"key-{world.tenant.replace('_', '-').lower()}", world.key_file.read_text()
    Secret(value=old).save(name, overwrite=True)  # type: ignore[unused-coroutine]
    monkeypatch.delenv("PROOFSWEEP_SERVICE__API_KEY_FILE")
    monkeypatch.setenv("PROOFSWEEP_SERVICE__API_KEY_BLOCK", name)

    refused = rotate_key("production", results=world.results_url, return_state=True)
    state = rotate_key("sandbox", results=world.results_url, return_state=True)

    new, row = read_block(name), world.table("rotations")[0]
    assert (refused.is_failed(), state.is_completed()) == (True, True)
    assert new != old
    assert row["new_key_id"] in str(state.message)
    assert new not in str(state.message)
    with pytest.raises(ValueError, match="Unable to find block document"):
        Secret.load(f"{name}-new")
