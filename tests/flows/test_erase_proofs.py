"""The flow erases the proofs of a file; Prefect's parameters and messages name none."""

from pathlib import Path

import proofsweep_sandbox as sandbox

from ..worlds.sandbox_world import Samples, SandboxWorld


def test_a_file_of_proofs_is_erased(
    world: SandboxWorld, samples: Samples, running: sandbox.Running, tmp_path: Path
) -> None:
    """A wrong number or environment erases nothing."""
    from proofsweep_flows.erase_proofs import erase_proofs  # noqa: PLC0415 - Prefect reads the environment on import

    bare = next(samples.folder.rglob("*.wav"))
    proof_id = running.operator.issue(bare, tmp_path / "song.wav", tenant=world.tenant).proof_id
    (tmp_path / "list.txt").write_text(f"{proof_id}\n{proof_id}\n")

    states = [
        erase_proofs(str(tmp_path / "list.txt"), count, environment, results=world.results_url, return_state=True)
        for count, environment in ((2, "sandbox"), (1, "production"), (1, "sandbox"))
    ]

    assert [state.name for state in states] == ["Failed", "Failed", "Completed"]
    assert "1 erased" in str(states[2].message)
    assert not [state for state in states if proof_id in str(state.message)]
    assert [row["outcome"] for row in world.table("erasures")] == ["erased"]
