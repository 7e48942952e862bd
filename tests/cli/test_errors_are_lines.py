"""Whatever a person names, and wherever they stand: a command ends with one line and the documented exit code."""

from pathlib import Path

import httpx
import pytest

import proofsweep_sandbox as sandbox

from .conftest import Command
from .test_read_only_commands import NOBODY

LONG = "a" * 300
OPERATOR = ("--operator", NOBODY)
# Commands with a path of each kind: a name that no disk can hold, a folder for a file, a file for a folder.
BAD_PATHS = [
    (("check", f"{LONG}.wav"), "no audio at this location"),
    (("check", "folder name"), "proofsweep verify 'folder name'"),
    (("plan", LONG), "there is no such file or folder"),
    (("plan", "music", "--config", LONG), "no profile"),
    (("plan", "music", "--config", f"./{LONG}.toml"), "File name too long"),
    (("plan", "music", "--config", "./folder name"), "Is a directory"),
    (("plan", "music", "--config", "deep.toml"), "nested too deeply"),
    (("export", "--file", f"{LONG}.csv"), "ile name too long"),
    (("export", "--file", "file/a.csv"), "ot a directory"),
    (("report", "--file", "/"), "/ cannot be written"),
    (("report", "--file", "a\0.html"), "the character NUL"),
    (("ingest", "file"), "no such folder"),
    (("ingest", LONG), "no such folder"),
    (("status", "--results", "file"), "cannot be used: "),
    (("rejects", "--results", "file/below"), "cannot be used: "),
    (("query", "FROM runs", "--results", LONG), "File name too long"),
    (("proofs", "erase", "--from", LONG), "File name too long"),
    (("proofs", "show", "\udcff"), r"A name holds the byte \xff"),
    (("keys", "rotate", "--yes", "--new-key-file", LONG), "File name too long"),
    (("demo", "--folder", LONG), "File name too long"),
    (("sandbox", "--home", LONG), "File name too long"),
    (("sandbox", "samples", LONG, *OPERATOR), "File name too long"),
]


def refused(done_by: Command, *arguments: str) -> str:
    """Return the one line with which a command refuses what it was given."""
    done = done_by(*arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.parametrize(("arguments", "words"), BAD_PATHS, ids=range(len(BAD_PATHS)))
def test_a_path_that_cannot_be_used_is_told_in_one_line(
    proofsweep: Command, finished_run: str, workdir: Path, arguments: tuple[str, ...], words: str
) -> None:
    """Nothing is written, not even in part."""
    (workdir / "file").write_text("mine")
    (workdir / "music").mkdir()
    (workdir / "folder name").mkdir()
    (workdir / "deep.toml").write_text("a = " + "[" * 50_000)
    before = sorted(workdir.rglob("*"))

    line = refused(proofsweep, *arguments)

    assert finished_run
    assert words in line
    assert sorted(workdir.rglob("*")) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("status",),
        ("plan", "music"),
        ("check", "a.wav"),
        ("explain", "a.wav"),
        ("export",),
        ("query", "FROM runs"),
        ("doctor",),
        ("keys", "list"),
        ("ingest", "drop"),
        ("verify", "music"),
    ],
)
def test_a_working_folder_that_was_deleted_is_told(
    proofsweep: Command, workdir: Path, arguments: tuple[str, ...]
) -> None:
    """As when another shell deletes it; no path of it can be found then."""
    workdir.rmdir()

    assert "The working folder " in refused(proofsweep, *arguments)


def test_a_damaged_part_is_told(proofsweep: Command, finished_run: str, workdir: Path) -> None:
    """DuckDB's own error names the part."""
    for part in (workdir / "results" / "verdicts").glob("*/*.parquet"):
        part.write_bytes(part.read_bytes()[:200])

    line = refused(proofsweep, "proofs", "notes")

    assert f"{finished_run}-00000-001.parquet" in line
    assert "No magic bytes" in line


@pytest.mark.parametrize("arguments", [("keys", "list"), ("proofs", "list"), ("proofs", "show", "prf_1")])
def test_a_service_that_is_down_has_one_exit_code(
    proofsweep: Command, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """Whichever call finds that it is: 8, as for a run; the line says where nothing answers."""
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", NOBODY)
    monkeypatch.setenv("PROOFSWEEP_RETRY__LONGEST_WAIT_SECONDS", "0.01")

    done = proofsweep(*arguments)

    assert done.returncode == 8
    assert f"The service at {NOBODY} does not answer: " in done.stderr
    assert "nothing listens at this address and port" in done.stderr


def test_doctor_says_that_nothing_answers_and_nothing_of_the_key(
    proofsweep: Command, finished_run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key was used with another address, which is the right one: a port that is mistyped is no fault of the key."""
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", NOBODY)
    monkeypatch.setenv("PROOFSWEEP_RETRY__LONGEST_WAIT_SECONDS", "0.01")

    done = proofsweep("doctor")

    (failed,) = (line for line in done.stdout.splitlines() if line.startswith("failed"))
    assert (done.returncode, bool(finished_run)) == (8, True)
    assert "nothing listens at this address and port" in failed
    assert "key" not in failed.lower()


def test_the_health_of_a_service_needs_no_key(
    proofsweep: Command, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None is sent, so none has to be there."""
    monkeypatch.setenv("PROOFSWEEP_SERVICE__API_KEY_FILE", str(workdir / "nowhere"))

    assert proofsweep("service", "health").returncode == 0


@pytest.mark.parametrize(
    ("base_url", "operator"),
    [
        ("http://127.0.0.1:9/v1", "http://127.0.0.1:11"),
        ("http://[::1]:9/v1", "http://[::1]:11"),
        ("https://partner.example:9/v1", "http://127.0.0.1:8727"),
        ("nonsense", "http://127.0.0.1:8727"),
    ],
)
def test_the_sandbox_of_the_settings_is_the_one_that_issues(
    proofsweep: Command, monkeypatch: pytest.MonkeyPatch, base_url: str, operator: str
) -> None:
    """Its operator's port follows from its API's. Audio is sent to no other machine."""
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", base_url)
    monkeypatch.setattr(sandbox.Operator, "issue", refuse_connection)
    monkeypatch.setattr("proofsweep_cli.sandbox.write_catalog", refuse_connection)

    assert f"No sandbox answers at {operator}; " in refused(proofsweep, "sandbox", "samples", "music")


def refuse_connection(*_: object, **__: object) -> None:
    raise httpx.ConnectError("Connection refused")
