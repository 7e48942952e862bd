"""A list that comes under a new name, and a sidecar that comes later, again or beside its list, in each answer."""

import csv
import json
import os
from pathlib import Path

import pytest

import proofsweep_sandbox as sandbox

from ..worlds.command_world import rows_in
from ..worlds.core import plan
from ..worlds.nights import Label, verify_night
from .conftest import Command


@pytest.fixture
def label(workdir: Path, running: sandbox.Running) -> Label:
    folder = workdir / "music"
    folder.mkdir()
    return Label(folder, running.operator)


def changes(proofsweep: Command, *arguments: str) -> list[tuple[str, str, str]]:
    """Return the changes of the last run: change, cause and file."""
    rows = csv.DictReader(proofsweep("diff", "--format", "csv", *arguments).stdout.splitlines())
    return sorted((row["change"], row["cause"], row["file"]) for row in rows)


def attention(proofsweep: Command) -> int:
    document = json.loads(proofsweep("rejects", "--json").stdout)
    return sum(int(group["rows"]) for group in document["groups"])


def sent(run_id: str | None) -> list[str]:
    return sorted(Path(row["audio"]).name for row in rows_in(Path("results")) if row["run_id"] == run_id)


def test_a_sidecar_that_comes_mends_its_file(proofsweep: Command, label: Label) -> None:
    """Nothing is new or gone, the file is asked for no longer, and a further sidecar is a further answer."""
    label.credentialed("good.wav")
    lone, text = label.plain("lone.wav"), label.folder / "spoken.mp3"
    text.write_bytes(b"\xff\xfb\x90\x00" * 500)
    verify_night(label.folder)
    assert attention(proofsweep) == 2

    label.sidecar_of(lone)
    (label.folder / "spoken.sidecar").write_bytes(label.sidecar_of(text, "elsewhere").read_bytes())
    (label.folder / "elsewhere").unlink()
    assert "2 to send" in proofsweep("plan", str(label.folder), "--since-last").stdout
    second = verify_night(label.folder, since_last=True)

    assert sent(second) == ["lone.wav", "spoken.mp3"]
    assert changes(proofsweep) == [
        ("fixed", "sidecar_delivered", "lone.wav"),
        ("fixed", "sidecar_delivered", "spoken.mp3"),
    ]
    assert "2 fixed · sidecar delivered" in proofsweep("diff").stdout
    assert attention(proofsweep) == 0
    assert "lone.wav" not in proofsweep("export", "--only", "rejected,ineligible", "--format", "letter").stdout
    assert verify_night(label.folder, since_last=True) is None
    assert verify_night(label.folder, only=("rejected", "ineligible")) is None

    (label.folder / "lone.wav.sidecar").write_bytes((label.folder / "spoken.sidecar").read_bytes())
    third = verify_night(label.folder, since_last=True)

    assert sent(third) == ["lone.wav"]
    assert changes(proofsweep) == [("broken", "sidecar_changed", "lone.wav")]
    assert proofsweep("audit").returncode == 0


def listed(label: Label, *rows: str, header: str = "audio,sidecar,title", name: str = "catalog.csv") -> Path:
    path = label.folder / name
    path.write_text("\n".join((header, *rows)) + "\n")
    return path


def test_a_cell_that_is_filled_later_mends_its_row(proofsweep: Command, label: Label) -> None:
    """The row keeps its identity; another sidecar is sent even if it has the size and the time of the first."""
    first, other = label.plain("a.wav"), label.plain("b.wav")
    for name in ("x.sidecar", "y.sidecar"):
        (label.folder / name).write_bytes(label.sidecar_of(first if name == "x.sidecar" else other, "new").read_bytes())
    size = max(len((label.folder / name).read_bytes()) for name in ("x.sidecar", "y.sidecar"))
    for name in ("x.sidecar", "y.sidecar"):
        (label.folder / name).write_bytes((label.folder / name).read_bytes().ljust(size))
        os.utime(label.folder / name, (1, 1))
    verify_night(listed(label, "a.wav,later.sidecar,A", "b.wav,,B"))
    assert attention(proofsweep) == 2

    catalog = listed(label, "a.wav,y.sidecar,A", "b.wav,y.sidecar,B")
    verify_night(catalog, since_last=True)
    assert changes(proofsweep) == [("changed", "sidecar_delivered", "a.wav"), ("fixed", "sidecar_delivered", "b.wav")]
    verify_night(listed(label, "a.wav,x.sidecar,A", "b.wav,y.sidecar,B"), since_last=True)

    assert changes(proofsweep) == [("fixed", "sidecar_changed", "a.wav")]
    assert attention(proofsweep) == 0


def test_one_audio_with_two_sidecars_is_two_items(proofsweep: Command, label: Label) -> None:
    """In whatever order they are listed; one answer hides no other."""
    audio = label.plain("a.wav")
    label.sidecar_of(audio)
    (label.folder / "bad.sidecar").write_bytes(b"no proof")
    rows = ["a.wav,a.wav.sidecar,A", "./a.wav,bad.sidecar,A", "a.wav,,A"]
    first = verify_night(listed(label, *rows))

    assert sent(first) == ["a.wav"] * 3
    assert attention(proofsweep) == 2
    verify_night(listed(label, *reversed(rows)))
    assert changes(proofsweep) == []
    assert verify_night(listed(label, *rows), since_last=True) is None


def test_the_newest_list_takes_the_place_of_the_older(
    proofsweep: Command, label: Label, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the new list lacks is gone, also for the views in a DuckDB of one's own."""
    monkeypatch.setenv("PROOFSWEEP_CATALOG__NAME", "music")
    for number in range(3):
        label.credentialed(f"good {number}.wav")
        label.plain(f"bad {number}.wav")
    files = [f"{kind} {number}.wav" for kind in ("good", "bad") for number in range(3)]
    verify_night(listed(label, *files, header="audio", name="katalog.csv"))
    second = listed(label, *files[:4], "new.wav", header="audio", name="katalog_2026-11-27.csv")
    label.credentialed("new.wav")

    run_id = verify_night(second, since_last=True)

    rows, covered = (
        json.loads(proofsweep("query", query, "--format", "json").stdout)
        for query in ("SELECT state FROM catalog WHERE file LIKE 'bad%' ORDER BY file", "FROM coverage")
    )
    assert [row["state"] for row in rows] == ["rejected", "gone", "gone"]
    assert [(Path(row["catalog"]).name, row["files"], row["gone"]) for row in covered] == [(second.name, 5, 2)]
    assert "good 0.wav" not in proofsweep("diff", run_id or "", "--format", "csv").stdout
    assert proofsweep("audit").returncode == 0


def test_a_list_of_a_new_month_is_told_and_the_old_one_is_retired(
    proofsweep: Command, label: Label, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under the name that is told no answer is paid again; what was retired counts nowhere, and its rows stay."""
    for name in ("good.wav", "new.wav"):
        label.credentialed(name)
    label.plain("bad.wav")
    november = listed(label, "good.wav", "bad.wav", header="audio", name="november.csv")
    december = listed(label, "good.wav", "new.wav", header="audio", name="december.csv")
    verify_night(november)

    told = " ".join(proofsweep("plan", december).stdout.split())
    assert json.loads(proofsweep("plan", december, "--json").stdout)["lists_beside"] == [str(november)]
    assert f"{november} counts beside this one." in told
    assert 'set name = "music" under [catalog], with which its files keep their answers' in told
    assert f"stop --retire {november}" in told
    monkeypatch.setenv("PROOFSWEEP_CATALOG__NAME", "music")
    assert sent(verify_night(december, since_last=True)) == ["new.wav"]
    assert attention(proofsweep) == 1

    done = proofsweep("stop", "--retire", "music/november.csv")

    assert done.returncode == 0, done.stderr
    assert attention(proofsweep) == 0
    assert [each["catalog"] for each in json.loads(proofsweep("status", "--json").stdout)["catalogs"]] == [
        str(december)
    ]
    counted, kept = (
        json.loads(proofsweep("query", query, "--format", "json").stdout)
        for query in ("FROM coverage", "SELECT count(*) AS rows FROM verdicts")
    )
    assert [(Path(row["catalog"]).name, row["files"], row["rejected"]) for row in counted] == [("december.csv", 2, 0)]
    assert kept == [{"rows": 3}]
    assert proofsweep("audit").returncode == 0
    again = proofsweep("stop", "--retire", "music/november.csv")
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)


def test_diff_says_what_it_compares(proofsweep: Command, label: Label) -> None:
    """The newest run, though it is of some rows; and never that nothing changed where rows remain.

    Of a file with the bytes of one that is gone, it says where that one was.
    """
    for name in ("a.wav", "b.wav"):
        label.credentialed(name)
    first = verify_night(label.folder)
    second = verify_night(label.folder, where="name = 'a.wav'")

    chosen = " ".join(proofsweep("diff").stdout.split())
    third = plan(label.folder)
    planned = proofsweep("diff").stdout

    assert f"Run {second} against" in chosen
    assert "the rows of --where" in chosen
    assert f"compared with the run {first}" in chosen
    assert f"Run {third} against" in planned
    assert "2 of 2 rows remain (planned only)" in planned
    assert "nothing changed" not in planned
    facts = json.loads(proofsweep("diff", "--json").stdout)
    assert (facts["remaining"], facts["compared_with"]) == (2, [first, second])
    assert "2 of 2 rows remain" in proofsweep("diff", "--format", "csv").stderr
    (label.folder / "b.wav").rename(label.folder / "renamed.wav")
    verify_night(label.folder, since_last=True)
    moved = " ".join(proofsweep("diff").stdout.split())
    assert f"1 changed · moved renamed.wav accepted → accepted, was {label.folder}/b.wav" in moved


SAID = "the manifest has no sidecar column: 2 sidecars lie beside their audio, sent as pairs"


@pytest.fixture
def titles(label: Label) -> Path:
    """A list of five files: a one-file, two pairs, and two that one sidecar may belong to."""
    label.credentialed("alba/one.wav")
    label.sidecar_of(label.plain("alba/two.wav"))
    label.sidecar_of(label.plain("alba/three.wav"), "three.sidecar")
    label.sidecar_of(label.plain("both.wav"), "both.sidecar")
    label.plain("both.wave")
    path = label.folder / "catalog.csv"
    path.write_text("Audio,Title\nalba/one.wav,1\nalba/two.wav,2\nalba/three.wav,3\nboth.wav,4\nboth.wave,5\n")
    return path


def test_sidecars_beside_the_audio_are_sent_with_it(proofsweep: Command, titles: Path) -> None:
    """`plan` says so, and each pair is accepted; a sidecar that two files claim keeps both of them back."""
    planned = proofsweep("plan", titles)
    counts = json.loads(proofsweep("plan", titles, "--json").stdout)
    verify_night(titles)
    stands = proofsweep("query", "SELECT file, mode, state FROM catalog ORDER BY file", "--format", "csv").stdout

    assert "3 to send (2 pairs)" in planned.stdout
    assert SAID in " ".join(planned.stdout.split())
    assert (counts["pairs"], counts["ignored"]) == (2, {"sidecars_beside": 2})
    assert stands.splitlines()[1:] == [
        "alba/one.wav,one_file,accepted",
        "alba/three.wav,legacy_pair,accepted",
        "alba/two.wav,legacy_pair,accepted",
        "both.wav,,ineligible",
        "both.wave,,ineligible",
    ]
    assert counts["reasons"] == {"ambiguous_sidecar": 2}


def test_a_setting_sends_the_audio_alone(proofsweep: Command, titles: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So does a column for sidecars: what it does not name is not sent."""
    named = titles.with_name("named.csv")
    named.write_text("Audio,Sidecar\nalba/one.wav,\nalba/two.wav,\n")
    by_column = proofsweep("plan", named).stdout
    monkeypatch.setenv("PROOFSWEEP_CATALOG__COLUMNS__SIDECAR", "none")
    by_setting = proofsweep("plan", titles).stdout

    assert ["(0 pairs)" in said for said in (by_column, by_setting)] == [True] * 2
    assert "sidecar column" not in by_column + by_setting
