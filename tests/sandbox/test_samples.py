from pathlib import Path

import proofsweep_sandbox as sandbox
from proofsweep_sandbox.samples.kinds import KINDS

VERDICTS = {"valid", "audioChanged", "tampered", "unregistered", "unreadable", "local_seal"}


def test_a_catalog_has_every_kind_and_as_many_files_as_were_asked_for(running: sandbox.Running, tmp_path: Path) -> None:
    """One of each kind, the rest at random; all names differ and all files exist. The first six have every verdict."""
    samples = sandbox.write_catalog(tmp_path, running.operator, files=60)

    assert len({sample.audio for sample in samples}) == 60
    assert {sample.kind for sample in samples} == {kind.name for kind in KINDS}
    assert all(sample.audio.is_file() for sample in samples)
    assert all(sample.sidecar.is_file() for sample in samples if sample.sidecar)
    assert {kind.verdict for kind in KINDS[:6]} == VERDICTS
