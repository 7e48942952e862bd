import unicodedata
from pathlib import Path

import sandbox
from sandbox.samples.kinds import KINDS

VERDICTS = {"valid", "audioChanged", "tampered", "unregistered", "unreadable", "local_seal"}


def test_a_catalog_has_every_kind_and_as_many_files_as_were_asked_for(
    operator: sandbox.Operator, tmp_path: Path
) -> None:
    """One of each kind comes first, the rest is drawn; all names differ and all files exist."""
    samples = sandbox.write_catalog(tmp_path, operator, files=60)

    assert len({sample.audio for sample in samples}) == 60
    assert {sample.kind for sample in samples} == {kind.name for kind in KINDS}
    assert all(sample.audio.is_file() for sample in samples)
    assert all(sample.sidecar.is_file() for sample in samples if sample.sidecar)


def test_six_files_show_every_verdict(operator: sandbox.Operator, tmp_path: Path) -> None:
    """Even the smallest catalog is complete in what the service can say."""
    samples = sandbox.write_catalog(tmp_path, operator, files=6)

    assert {sample.verdict for sample in samples} == VERDICTS


def test_a_catalog_repeats_itself(operator: sandbox.Operator, tmp_path: Path) -> None:
    """Names, kinds and order depend on the seed alone; the seals are new."""
    first, again, other = (
        [
            (sample.audio.relative_to(tmp_path / name), sample.kind)
            for sample in sandbox.write_catalog(tmp_path / name, operator, files=30, seed=seed)
        ]
        for name, seed in (("first", 1), ("again", 1), ("other", 2))
    )

    assert first == again != other


def test_what_can_never_be_sent_is_said_to_be_so(operator: sandbox.Operator, tmp_path: Path) -> None:
    """Empty, larger than the slot (a hole in the file, no real megabytes), unlisted formats, an MP3 without sidecar."""
    samples = sandbox.write_catalog(tmp_path, operator, files=30)

    by_kind = {sample.kind: sample.audio for sample in samples if sample.is_ineligible}

    assert by_kind.keys() == {"empty", "too_large", "bare_mp3", "flac", "ogg"}
    assert by_kind["empty"].stat().st_size == 0
    assert by_kind["too_large"].stat().st_size > 65 * 1024 * 1024
    assert by_kind["too_large"].stat().st_blocks * 512 < 1024 * 1024


def test_names_are_odd_and_folders_hold_other_things(operator: sandbox.Operator, tmp_path: Path) -> None:
    """Both normal forms of Unicode, spaces, hashes, percent signs and quotes; pictures, texts and an orphan sidecar."""
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
