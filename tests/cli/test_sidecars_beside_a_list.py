"""A list that names the audio alone, whose sidecars lie beside it, is a list of pairs."""

import json
from pathlib import Path

import pytest

import proofsweep_sandbox as sandbox

from ..worlds.nights import Label, verify_night
from .conftest import Command

SAID = "the manifest has no sidecar column: 2 sidecars lie beside their audio, sent as pairs"


@pytest.fixture
def catalog(workdir: Path, running: sandbox.Running) -> Path:
    """A list of five files: a one-file, two pairs, and two that one sidecar may belong to."""
    label = Label(workdir / "music", running.operator)
    label.credentialed("alba/one.wav")
    label.sidecar_of(label.plain("alba/two.wav"))
    label.sidecar_of(label.plain("alba/three.wav"), "three.sidecar")
    label.sidecar_of(label.plain("both.wav"), "both.sidecar")
    label.plain("both.wave")
    path = label.folder / "catalog.csv"
    path.write_text("Audio,Title\nalba/one.wav,1\nalba/two.wav,2\nalba/three.wav,3\nboth.wav,4\nboth.wave,5\n")
    return path


def test_sidecars_beside_the_audio_are_sent_with_it(proofsweep: Command, catalog: Path) -> None:
    """`plan` says so, and each pair is accepted; a sidecar that two files claim is sent with neither."""
    planned = proofsweep("plan", catalog)
    counts = json.loads(proofsweep("plan", catalog, "--json").stdout)
    verify_night(catalog)
    stands = proofsweep("query", "SELECT file, mode, state FROM catalog ORDER BY file", "--format", "csv").stdout

    assert "5 to send (2 pairs)" in planned.stdout
    assert SAID in " ".join(planned.stdout.split())
    assert (counts["pairs"], counts["ignored"]) == (2, {"sidecars_beside": 2})
    assert stands.splitlines()[1:] == [
        "alba/one.wav,one_file,accepted",
        "alba/three.wav,legacy_pair,accepted",
        "alba/two.wav,legacy_pair,accepted",
        "both.wav,one_file,rejected",
        "both.wave,one_file,rejected",
    ]
    assert verify_night(catalog, since_last=True) is None


def test_a_setting_sends_the_audio_alone(proofsweep: Command, catalog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So does a column for sidecars: what it does not name is not sent."""
    named = catalog.with_name("named.csv")
    named.write_text("Audio,Sidecar\nalba/one.wav,\nalba/two.wav,\n")
    by_column = proofsweep("plan", named).stdout
    monkeypatch.setenv("PROOFSWEEP_CATALOG__COLUMNS__SIDECAR", "none")
    by_setting = proofsweep("plan", catalog).stdout

    assert ["(0 pairs)" in said for said in (by_column, by_setting)] == [True] * 2
    assert "sidecar column" not in by_column + by_setting
