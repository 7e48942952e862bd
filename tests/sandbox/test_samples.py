from pathlib import Path

import pytest

import proofsweep_sandbox as sandbox
from proofsweep_sandbox.samples.kinds import KINDS

VERDICTS = {"valid", "audioChanged", "tampered", "unregistered", "unreadable", "local_seal"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("samples")


@pytest.fixture(scope="module")
def samples(folder: Path, running: sandbox.Running) -> list[sandbox.Sample]:
    return sandbox.write_catalog(folder, running.operator, files=60)


def test_a_catalog_has_every_kind_and_as_many_files_as_were_asked_for(samples: list[sandbox.Sample]) -> None:
    """One of each kind, the rest at random; all names differ and all files exist. The first six have every verdict."""
    assert len({sample.audio for sample in samples}) == 60
    assert {sample.kind for sample in samples} == {kind.name for kind in KINDS}
    assert all(sample.audio.is_file() for sample in samples)
    assert all(sample.sidecar.is_file() for sample in samples if sample.sidecar)
    assert {kind.verdict for kind in KINDS[:6]} == VERDICTS
