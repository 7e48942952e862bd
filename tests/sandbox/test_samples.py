import unicodedata
from pathlib import Path

import proofsweep_sandbox as sandbox
from proofsweep_sandbox.samples.kinds import KINDS

VERDICTS = {"valid", "audioChanged", "tampered", "unregistered", "unreadable", "local_seal"}


def test_a_catalog_has_every_kind_and_as_many_files_as_were_asked_for(
    operator: sandbox.Operator, tmp_path: Path
) -> None:
    """One of each kind, the rest at random; all names differ and all files exist."""
    samples = sandbox.write_catalog(tmp_path, operator, files=60)

    assert len({sample.audio for sample in samples}) == 60
    assert {sample.kind for sample in samples} == {kind.name for kind in KINDS}
    assert all(sample.audio.is_file() for sample in samples)
    assert all(sample.sidecar.is_file() for sample in samples if sample.sidecar)


def test_six_files_show_every_verdict(operator: sandbox.Operator, tmp_path: Path) -> None:
    """A small catalog has every verdict."""
    samples = sandbox.write_catalog(tmp_path, operator, files=6)

    assert {sample.verdict for sample in samples} == VERDICTS


def test_files_that_must_not_be_sent_are_ineligible(operator: sandbox.Operator, tmp_path: Path) -> None:
    """Empty, larger than a slot (a sparse file), unlisted formats, an MP3 without a sidecar."""
    samples = sandbox.write_catalog(tmp_path, operator, files=30)

    by_kind = {sample.kind: sample.audio for sample in samples if sample.is_ineligible}

    assert by_kind.keys() == {"empty", "too_large", "bare_mp3", "flac", "ogg"}
    assert by_kind["empty"].stat().st_size == 0
    assert by_kind["too_large"].stat().st_size > 65 * 1024 * 1024
    assert by_kind["too_large"].stat().st_blocks * 512 < 1024 * 1024


def test_names_are_unusual_and_folders_have_other_files(operator: sandbox.Operator, tmp_path: Path) -> None:
    """Both normal forms of Unicode, spaces, hashes, percent signs, quotes; pictures, texts, a sidecar without audio."""
    samples = sandbox.write_catalog(tmp_path, operator, files=40)
    names = "".join(sample.audio.name for sample in samples)

    assert {" ", "#", "%", '"', "'"} <= set(names)
    assert not unicodedata.is_normalized("NFC", names)
    assert not unicodedata.is_normalized("NFD", names)
    assert {"cover.jpg", "notes.txt", "Lost Tape.wav.sidecar"} <= {file.name for file in tmp_path.rglob("*")}
    assert {
        "by name" if sample.sidecar.name == f"{sample.audio.name}.sidecar" else "by stem"
        for sample in samples
        if sample.sidecar
    } == {"by name", "by stem"}
