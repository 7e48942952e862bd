"""Commands that start no run: plan, check, doctor, runs, status."""

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest

import proofsweep_sandbox as sandbox

from ..worlds.command_world import wav_of
from ..worlds.core import plan
from .conftest import Command

NOBODY = "http://127.0.0.1:1/v1"
OUTCOMES = ("accepted", "rejected", "failed", "ineligible")


@pytest.fixture
def song(running: sandbox.Running, catalog: Path, tmp_path: Path) -> sandbox.Issued:
    bare = next(catalog.rglob("*.wav"))
    return running.operator.issue(bare, tmp_path / "song.wav", song="A [bold]Song[/bold] :smile:")


@pytest.fixture
def pair(running: sandbox.Running, catalog: Path, tmp_path: Path) -> sandbox.Issued:
    return running.operator.issue(next(catalog.rglob("*.mp3")), tmp_path, legacy=True)


def test_plan_prints_what_a_run_would_take_and_writes_nothing(
    proofsweep: Command, workdir: Path, catalog: Path
) -> None:
    """Counts and the quota. Eligible and ineligible rows are all rows."""
    done = proofsweep("plan", catalog)
    planned = json.loads(proofsweep("plan", catalog, "--json").stdout)

    assert done.returncode == 0
    assert "26 rows" in done.stdout
    assert "calls left, it fits" in done.stdout
    assert list(workdir.iterdir()) == []
    assert planned["eligible"] + sum(planned["reasons"].values()) == planned["items"] == 26
    assert (planned["calls"], planned["calls_expected"]) == (2 * planned["eligible"], 2 * planned["eligible"] + 2)


def test_plan_leaves_out_wavs_that_carry_no_credential(
    proofsweep: Command, catalog: Path, song: sandbox.Issued, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The setting leaves out these, and no WAV that carries one."""
    folder = tmp_path / "delivery"
    folder.mkdir()
    for number, plain in enumerate(
        path for path in sorted(catalog.rglob("*.wav")) if 1000 < path.stat().st_size < 10**6
    ):
        (folder / f"{number}.wav").write_bytes(plain.read_bytes())
    (folder / "song.wav").write_bytes(song.audio.read_bytes())

    asked = json.loads(proofsweep("plan", folder, "--json").stdout)
    monkeypatch.setenv("PROOFSWEEP_CATALOG__SKIP_WITHOUT_CREDENTIAL", "true")
    without = json.loads(proofsweep("plan", folder, "--json").stdout)
    listed = json.loads(proofsweep("plan", folder, "--list", "--json").stdout)

    left_out = without["reasons"]["no_credential"]
    assert asked["reasons"] == {}
    assert 0 < left_out == len(listed) < asked["items"]
    assert without["calls"] == asked["calls"] - 2 * left_out
    assert "song.wav" not in {row["file"] for row in listed}


def test_plan_lists_what_will_not_be_sent(proofsweep: Command, workdir: Path, tmp_path: Path) -> None:
    """As text, CSV or JSON, with its tags and without a call; another format is refused in one line.

    Audio beside the files of the list that no list names is no row, and is named too.
    """
    manifest = tmp_path / "m.csv"
    manifest.write_text("audio;Titel\nD:\\x\\gone.wav;=Öl\n;leer\nsent.wav;da\n", encoding="cp1252")
    for name in ("sent.wav", "forgotten.wav"):
        (tmp_path / name).write_bytes(b"RIFF\x24\x00\x00\x00WAVEfmt ")

    text, csv, array, refused = (
        proofsweep("plan", manifest, "--list", *form)
        for form in ([], ["--format", "csv"], ["--json"], ["--format", "parquet"])
    )
    as_csv = proofsweep("plan", manifest, "--format", "csv")

    assert [done.returncode for done in (text, csv, array, refused)] == [0, 0, 0, 2]
    assert "m.csv, line 2" in text.stdout
    assert "  Titel =Öl\n" in text.stdout
    assert "2 rows will not be sent" in text.stdout
    assert "  1 not_in_list: add it to a list" in text.stdout
    assert csv.stdout.splitlines()[0] == "line,file,reason,what_to_do,detail,tags"
    assert as_csv.stdout == csv.stdout  # nothing else of a plan is a table
    *rows, forgotten = json.loads(array.stdout)
    assert [row["tags"] for row in rows] == [{"Titel": "=Öl"}, {"Titel": "leer"}]
    assert [row["line"] for row in rows] == ["m.csv, line 2", "m.csv, line 3"]
    assert (forgotten["file"], forgotten["reason"], forgotten["line"]) == ("forgotten.wav", "not_in_list", "")
    assert "set catalog.path_map" in json.loads(array.stdout)[0]["detail"]
    assert "'parquet' is not one of 'text', 'csv'" in refused.stderr
    assert list(workdir.iterdir()) == []


def test_plan_shows_the_first_row_of_each_reason(proofsweep: Command, workdir: Path) -> None:
    (workdir / "list.csv").write_text("audio\n~/a.wav\n")

    assert "There is no audio at this location." in proofsweep("plan", "list.csv").stdout


def test_plan_prints_what_the_quota_and_a_legs_bounds_allow(
    proofsweep: Command, catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve calls, less two requests for the quota, are enough for five files; reserved calls do not count."""
    bounded = proofsweep("plan", catalog, "--max-calls", "12")
    document = json.loads(proofsweep("plan", catalog, "--max-calls", "12", "--json").stdout)
    monkeypatch.setenv("PROOFSWEEP_BOUNDS__RESERVE", "999990")
    reserved = proofsweep("plan", catalog)

    assert f"left over: about {document['eligible'] - 5} rows" in bounded.stdout
    assert (document["rows_left"], document["binds"], document["rows_short"]) == (document["eligible"] - 5, "calls", 0)
    assert "short by" in reserved.stdout
    assert "the rest after" in reserved.stdout


def test_check_accepts_a_good_file_and_says_what_to_do_about_another(
    proofsweep: Command, workdir: Path, song: sandbox.Issued
) -> None:
    """It prints the verdict, the song and the meaning of the verdict; nothing is stored. Other verdicts are exit 3."""
    done = proofsweep("check", song.audio)

    assert done.returncode == 0
    assert done.stdout.startswith("accepted · valid\n")
    assert "A [bold]Song[/bold] :smile:" in done.stdout
    assert "not a statement about how the music was made" in done.stdout
    assert list(workdir.iterdir()) == []

    altered = bytearray(song.audio.read_bytes())
    altered[altered.index(b"data") + 8] ^= 0xFF
    song.audio.write_bytes(altered)

    done = proofsweep("check", song.audio)

    assert done.returncode == 3
    assert done.stdout.startswith("rejected · unreadable\n")
    assert "what to do: reject" in done.stdout


def test_check_verifies_a_pair(proofsweep: Command, running: sandbox.Running, pair: sandbox.Issued) -> None:
    """`--json` gives the row of a run. Without its sidecar the MP3 is ineligible, and no call is made."""
    done = proofsweep("check", pair.audio, str(pair.sidecar), "--json")
    calls_before = len(running.operator.exchanges())
    alone = proofsweep("check", pair.audio)

    row = json.loads(done.stdout)
    assert (row["outcome"], row["verdict"], row["mode"], row["calls"]) == ("accepted", "valid", "legacy_pair", 2)
    assert alone.returncode == 3
    assert alone.stdout.startswith("ineligible · not_wav\n")
    assert len(running.operator.exchanges()) == calls_before


def known_good(monkeypatch: pytest.MonkeyPatch, *entries: object) -> None:
    monkeypatch.setenv("PROOFSWEEP_SERVICE__KNOWN_GOOD", json.dumps(entries))


def test_doctor_finds_everything_ready(
    proofsweep: Command, workdir: Path, pair: sandbox.Issued, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each thing is checked, a known-good pair is accepted, and nothing is left behind."""
    known_good(monkeypatch, [str(pair.audio), str(pair.sidecar)])

    done = proofsweep("doctor")

    assert done.returncode == 0
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [
        ["ok", about] for about in ("config", "results", "pairs", "prefect", "key", "service", "file")
    ]
    assert f"{pair.audio}: accepted" in done.stdout
    assert list(workdir.iterdir()) == []


def test_doctor_names_each_known_good_file_that_is_none(
    proofsweep: Command, pair: sandbox.Issued, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is not there costs no call, and one that is refused is not known to the service."""
    refused = workdir / "refused.wav"
    refused.write_bytes(wav_of(bytes(8_820)))
    known_good(monkeypatch, str(workdir / "gone.wav"), str(refused), [str(pair.audio), str(pair.sidecar)])

    done = proofsweep("doctor")

    findings = [line for line in done.stdout.splitlines() if line.split()[1] == "file"]
    assert done.returncode == 3
    assert [line.split()[0] for line in findings] == ["failed", "failed", "ok"]
    assert "gone.wav: There is no audio at this location." in findings[0]


@pytest.mark.parametrize(
    ("settings", "code", "about", "words"),
    [
        ({"SERVICE__BASE_URL": "nonsense"}, 2, "config", "service.base_url"),
        ({"RESULTS__URL": "../key/results"}, 2, "results", "/../key/results cannot be written"),
        ({"SERVICE__API_KEY_FILE": "nowhere"}, 2, "key", "nowhere"),
        ({"SERVICE__BASE_URL": NOBODY, "RETRY__LONGEST_WAIT_SECONDS": "0.01"}, 8, "service", NOBODY),
        ({"SERVICE__SIDECAR_FIELD": "proofFile"}, 2, "file", "wire name may be wrong"),
    ],
)
def test_doctor_names_what_is_wrong(
    proofsweep: Command,
    pair: sandbox.Issued,
    monkeypatch: pytest.MonkeyPatch,
    *,
    settings: dict[str, str],
    code: int,
    about: str,
    words: str,
) -> None:
    """One finding fails, and its exit code is that of a run. Under a wrong name a service sees only the audio."""
    known_good(monkeypatch, [str(pair.audio), str(pair.sidecar)])
    for name, value in settings.items():
        monkeypatch.setenv(f"PROOFSWEEP_{name}", value)

    done, document = proofsweep("doctor"), json.loads(proofsweep("doctor", "--json").stdout)

    (failed,) = (each for each in document["findings"] if not each["ok"])
    assert (done.returncode, document["ok"], failed["about"]) == (code, False, about)
    assert words in failed["said"]
    assert [line.split()[1] for line in done.stdout.splitlines() if line.startswith("failed")] == [about]


def test_status_of_a_run_is_its_summary(proofsweep: Command, finished_run: str) -> None:
    """The exit code is that of the run, and the members of JSON are as documented.

    A file of each kind that needs attention is named, with what to do about the kind, and the command for all.
    """
    named = proofsweep("status", finished_run)
    document = json.loads(proofsweep("status", finished_run, "--json").stdout)

    assert named.returncode == 3
    assert f"Run {finished_run}" in named.stdout
    assert "26 rows, 44 calls, ended by complete" in named.stdout
    assert document["run_id"] == finished_run
    assert sum(document[outcome] for outcome in OUTCOMES) + document["remaining"] == document["items"] == 26
    assert sum(group["rows"] for group in document["groups"]) == 26
    members = {"leg", "ended_by", "skipped", "calls", "calls_again", "throttled", "bytes_sent", "seconds"}
    assert members <= document.keys()
    assert document["calls_unrecorded"] == 0
    examples = [each for each in document["groups"] if each["example"]]
    assert {each["outcome"] for each in examples} == {"rejected", "ineligible"}
    for each in examples:
        kind, of_kind = f"{each['rows']}  {each['outcome']} · {each['reason']} ", f"  {each['what_to_do']}\n"
        assert any(kind in line and line.endswith(of_kind) for line in named.stdout.splitlines(keepends=True))
        assert f"{each['example']}\n" in named.stdout
    assert f"all that need attention, with what to do: proofsweep rejects {finished_run}\n" in named.stdout


def test_a_run_without_a_leg_is_shown_as_planned_only(proofsweep: Command, workdir: Path, catalog: Path) -> None:
    """All of its rows remain; the printed command can be copied, even if the store's name has a space."""
    run_id = plan(catalog, "my proofs")

    status = proofsweep("status", run_id, "--results", "my proofs")

    assert (workdir / "my proofs").is_dir()
    assert "planned, not started" in status.stdout
    assert f"26 rows to do: proofsweep resume {run_id} --results 'my proofs'\n" in status.stdout
    assert status.returncode == 6


def test_a_list_of_checksums_that_cannot_be_used_is_refused(
    proofsweep: Command, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that cannot be read, and a column without an algorithm, in one line each."""
    (workdir / "drop").mkdir()
    (workdir / "drop" / "a.wav").write_bytes(b"RIFF")
    (workdir / "SUMS").write_text(f"{'0' * 32} *a.wav\n{'0' * 8}  b.wav\n")

    def plan(checksums: str) -> CompletedProcess[str]:
        monkeypatch.setenv("PROOFSWEEP_CATALOG__CHECKSUMS", f'["{checksums}"]')
        return proofsweep("plan", "drop")

    done, refused = plan("SUMS"), [plan(each) for each in ("nowhere", "drop", "column:isrc")]

    assert "ignored: 1 unused checksums" in done.stdout
    assert [each.returncode for each in refused] == [2, 2, 2]
    assert [each.stderr.count("\n") for each in refused] == [1, 1, 1]
    assert "nowhere: cannot be read as a list of checksums. There is no such file." in refused[0].stderr
