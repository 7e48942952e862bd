import unicodedata
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


def test_files_that_must_not_be_sent_are_ineligible(samples: list[sandbox.Sample]) -> None:
    """Empty, larger than a slot (a sparse file), unlisted formats, an MP3 without a sidecar."""
    by_kind = {sample.kind: sample.audio for sample in samples if sample.is_ineligible}

    assert by_kind.keys() == {"empty", "too_large", "bare_mp3", "flac", "ogg"}
    assert by_kind["empty"].stat().st_size == 0
    assert by_kind["too_large"].stat().st_size > 65 * 1024 * 1024
    assert by_kind["too_large"].stat().st_blocks * 512 < 1024 * 1024


def test_names_are_unusual_and_folders_have_other_files(samples: list[sandbox.Sample], folder: Path) -> None:
    """Both normal forms of Unicode, spaces, hashes, percent signs, quotes; pictures, texts, a sidecar without audio."""
    names = "".join(sample.audio.name for sample in samples)

    assert {" ", "#", "%", '"', "'"} <= set(names)
    assert not unicodedata.is_normalized("NFC", names)
    assert not unicodedata.is_normalized("NFD", names)
    assert {"cover.jpg", "notes.txt", "Lost Tape.wav.sidecar"} <= {file.name for file in folder.rglob("*")}
    by_name = {sample.sidecar.name == f"{sample.audio.name}.sidecar" for sample in samples if sample.sidecar}
    assert by_name == {True, False}
