"""A command that cannot run prints one line, gives the right exit code, and leaves nothing behind."""

import errno
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

import proofsweep_sandbox as sandbox
from proofsweep_cli import app

from .conftest import Command


def is_one_line_with(done: CompletedProcess[str], words: str) -> bool:
    """Return whether stderr is one line with these words, and there is no traceback."""
    return words in done.stderr and done.stderr.count("\n") == 1 and "Traceback" not in done.stderr + done.stdout


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"SERVICE__API_KEY_FILE": "nowhere/key"},
            "key file nowhere/key cannot be read (No such file or directory): name a readable key file",
        ),
        ({"SERVICE__API_KEY_FILE": "", "SERVICE__API_KEY_ENV": "NO_SUCH_VARIABLE"}, "NO_SUCH_VARIABLE holds no key"),
        ({"SERVICE__BASE_URL": "https://partner.example"}, "service.base_url: must end in the path segment /v1"),
        ({"SERVICE__BASE_URL": "http://partner.example/v1"}, "plain http"),
        ({"SERVICE__BASE_URL": "https://me:secret@partner.example/v1"}, "must not contain a user name or password"),
        ({"PACE__WORKRES": "4"}, "pace.workres"),
        ({"PACE__WORKERS": "many"}, "pace.workers"),
        ({"RESULTS__URL": "s3://me:secret@bucket/results"}, "must not contain credentials"),
        ({"RESULTS__URL": "../broken.toml"}, "broken.toml"),
        ({"CATALOG__SIDECAR_NAMES": "not json"}, "catalog"),
        ({"CONFIG": "prodution"}, "There is no profile 'prodution'"),
        ({"CONFIG": "nowhere.toml"}, "The config nowhere.toml cannot be read"),
        ({"CONFIG": "../broken.toml"}, "The config ../broken.toml is not TOML"),
    ],
)
def test_an_invalid_setting_is_named(
    proofsweep: Command, catalog: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], words: str
) -> None:
    """Exit code 2, before any call and any write; a secret in a setting is not printed."""
    Path("../broken.toml").write_text("[service\n")
    for name, value in settings.items():
        monkeypatch.setenv(f"PROOFSWEEP_{name}", value)

    done = proofsweep("verify", catalog)

    assert done.returncode == 2
    assert is_one_line_with(done, words)
    assert "secret" not in done.stderr
    assert (list(Path().iterdir()), Path("../broken.toml").read_text()) == ([], "[service\n")


@pytest.mark.parametrize("command", ["verify", "check"])
@pytest.mark.parametrize(
    ("partner", "code", "words"),
    [
        ("a web site", 2, "check service.base_url"),
        ("another path", 2, "is not the partner's API"),
        ("nobody", 8, "does not answer"),
        ("another key", 7, "refuse"),
    ],
)
def test_a_partner_that_is_none_is_told_in_its_last_line(
    proofsweep: Command,
    workdir: Path,
    catalog: Path,
    running: sandbox.Running,
    monkeypatch: pytest.MonkeyPatch,
    *,
    other_site: str,
    command: str,
    partner: str,
    code: int,
    words: str,
) -> None:
    """Nothing is written. `verify` has said before that it waits for a service that does not answer."""
    (workdir.parent / "wrong").write_text("not-a-key-of-the-sandbox")
    name, value = {
        "a web site": ("SERVICE__BASE_URL", other_site),
        "another path": ("SERVICE__BASE_URL", running.base_url.replace("/v1", "/api/v1")),
        "nobody": ("SERVICE__BASE_URL", "http://127.0.0.1:1/v1"),
        "another key": ("SERVICE__API_KEY_FILE", str(workdir.parent / "wrong")),
    }[partner]
    monkeypatch.setenv(f"PROOFSWEEP_{name}", value)
    monkeypatch.setenv("PROOFSWEEP_RETRY__LONGEST_WAIT_SECONDS", "0.01")
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "0.5")

    done = proofsweep(command, catalog if command == "verify" else next(catalog.rglob("*.wav")))

    assert done.returncode == code
    assert words in done.stderr.splitlines()[-1]
    assert done.stderr.count("\n") == 1 or (command, partner) == ("verify", "nobody")
    assert "Traceback" not in done.stderr + done.stdout
    assert list(workdir.iterdir()) == []


@pytest.mark.parametrize("command", [["verify", "music"], ["demo"]])
def test_a_configured_prefect_server_that_is_down_is_reported(
    proofsweep: Command, workdir: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    """It is reported at once, before a run is planned."""
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:1/api")
    (workdir / "music").mkdir()

    done = proofsweep(*command)

    assert done.returncode == 2
    assert is_one_line_with(done, "No Prefect server answers at http://127.0.0.1:1/api")
    assert [path.name for path in workdir.iterdir()] == ["music"]


def test_only_the_active_prefect_profile_counts(
    proofsweep: Command, workdir: Path, catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profiles = """
    active = "home"
    [profiles.home]
    PREFECT_API_URL = "http://127.0.0.1:1/home"
    [profiles.work]
    PREFECT_API_URL = "http://127.0.0.1:1/work"
    """
    (tmp_path / "profiles.toml").write_text(profiles)
    monkeypatch.setenv("PREFECT_PROFILES_PATH", str(tmp_path / "profiles.toml"))
    monkeypatch.delenv("PREFECT_API_URL")

    by_default = proofsweep("verify", catalog)
    monkeypatch.setenv("PREFECT_PROFILE", "work")
    by_name = proofsweep("verify", catalog)

    assert is_one_line_with(by_default, "http://127.0.0.1:1/home")
    assert is_one_line_with(by_name, "http://127.0.0.1:1/work")
    assert list(workdir.iterdir()) == []


@pytest.mark.parametrize("command", ["verify", "plan"])
@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", "", "empty"),
        ("header.csv", "audio\n", "no row"),
        ("strange.csv", "title\nIntro\n", "audio"),
        ("broken.jsonl", '{"audio": \n', "line 1"),
        ("nothing.csv", None, "nothing.csv"),
        ("nowhere/at/all", None, "nowhere/at/all"),
        ("~/music", None, "(`~` is not expanded here"),
        ("song.flac", "fLaC", "song.flac"),
        ("music/notes.txt", "Recorded at home.", "music"),
    ],
)
def test_a_catalog_that_cannot_be_read_is_named(
    proofsweep: Command, name: str, content: str | None, words: str, command: str
) -> None:
    """Exit code 2, and no results store."""
    path = Path(name)
    if content is not None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)

    done = proofsweep(command, words if words == "music" else name)

    assert done.returncode == 2
    assert is_one_line_with(done, words)
    assert not Path("results").exists()


@pytest.mark.parametrize("command", ["verify", "plan", "check"])
def test_pairs_are_refused_until_the_wire_name_is_known(
    proofsweep: Command, catalog: Path, running: sandbox.Running, tmp_path: Path, command: str
) -> None:
    """A service ignores an unknown field and verifies only the audio: a false `unreadable`."""
    audio = next(path for path in catalog.rglob("*.mp3") if path.with_name(f"{path.name}.sidecar").exists())
    (tmp_path / "pairs").mkdir()
    pair = [shutil.copy(path, tmp_path / "pairs") for path in (audio, f"{audio}.sidecar")]
    (tmp_path / "unnamed.toml").write_text('[service]\nenvironment = "beta"\n')
    calls_before = len(running.operator.exchanges())

    files = pair if command == "check" else [tmp_path / "pairs"]
    done = proofsweep(command, *files, "--config", tmp_path / "unnamed.toml")

    assert done.returncode == 2
    assert is_one_line_with(done, "service.sidecar_field")
    assert list(Path().iterdir()) == []
    assert len(running.operator.exchanges()) == calls_before


def test_a_key_is_not_sent_to_another_service(
    proofsweep: Command, workdir: Path, catalog: Path, finished_run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key belongs to one environment: a used key is refused for another base URL, before any call."""
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", "http://127.0.0.1:1/v1")

    done = proofsweep("verify", catalog)

    assert done.returncode == 2
    assert is_one_line_with(done, "This key was used with")
    assert [path.name for path in (workdir / "results" / "_runs").iterdir()] == [finished_run]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("audit", "nobody"), "There is no run 'nobody' in "),
        (("audit", "--head", "abc"), "A head is one digest of 64 hex digits"),
        (("demo", "--folder", "results"), "--folder"),
        (("explain", "nothing"), "fits 'nothing'; give a part of its location"),
        (("export", "--by", "supplier"), "No row has the tag 'supplier'; these rows have no tags."),
        (("export", "--format", "letter"), "A letter is for a supplier: give --by TAG"),
        (
            ("export", "--language", "de", "--by", "x", "--internal"),
            "--language is for a supplier: leave out --internal",
        ),
        (("export", "--format", "letter", "--by", "label"), "No row has the tag 'label'; these rows have no tags."),
        (("export", "--format", "pdf"), "cannot be written as 'pdf'; take csv, xlsx, json, parquet, letter"),
        (("export", "--only", "rejectd"), "no such outcome (did you mean rejected?)"),
        (("plan", "music", "--until", "2020-01-01T00:00:00Z"), "The window is over: it closed at 2020-01-01"),
        (("prune", "--older-than", "1y", "--yes"), "write it like 400d"),
        (("prune", "--older-than", "400d", "--yes", "--results", "misspelt"), "There is no run in"),
        (("query", " "), "Give a query"),
        (("query", "FROM verdicts", "--environment", "beta"), "no run of the environment beta"),
        (("query", "FROM verdicts", "--results", "nowhere"), "There is no run in"),
        (("query", "SELEC 1"), "Parser Error"),
        (("query", "SELECT nothing FROM verdicts"), "The query cannot be answered: Binder Error"),
        (("rejects", "nope"), "There is no run 'nope'"),
        (("report", "nothing"), "There is no run 'nothing'"),
        (("report", "nothing", "--catalog", "music"), "--catalog is of the catalog's page"),
        (("resume", "../results"), "There is no run '../results'"),
        (("resume", "--results", "nowhere"), "There is no run of the environment sandbox in"),
        (("status", "../results"), "There is no run '../results'"),
        (("status", "--follow"), "there is nothing to follow"),
        (("stop",), "results: there is nothing to stop."),
        (("stop", "../../etc"), "There is no run '../../etc'"),
        (("stop", "20261122T000000Z_000cccc"), "There is no run '20261122T000000Z_000cccc'"),
        (("verify", "catalog.csv", "--only", "tamperd"), "(did you mean tampered?): accepted, rejected, failed, "),
        (("verify", "catalog.csv", "--results", ""), "must not be empty"),
        (("verify", "catalog.csv", "--config", ""), "no profile ''"),
    ],
)
def test_a_wrong_request_changes_nothing(
    proofsweep: Command, finished_run: str, workdir: Path, arguments: tuple[str, ...], words: str
) -> None:
    """The exit code is 2. A path is no run ID, and an option with an unset variable does not mean its default."""
    before = sorted(workdir.rglob("*"))

    done = proofsweep(*arguments)

    assert (finished_run in str(before), done.returncode, done.stdout.strip()) == (True, 2, "")
    assert is_one_line_with(done, words)
    assert sorted(workdir.rglob("*")) == before


def raising(error: BaseException) -> Callable[[list[str]], Callable[..., int]]:
    def command(**_: object) -> int:
        raise error

    return lambda _: command


FREE_SOME = "free some, also for temporary files (TMPDIR)"
NO_FOLDER = "No usable temporary directory found in ['/tmp']"


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (OSError(errno.ENOSPC, "details"), 2, f"No space left on device: {FREE_SOME}."),
        (FileNotFoundError(errno.ENOENT, NO_FOLDER), 2, f"No usable temporary directory: {FREE_SOME}."),
        (KeyboardInterrupt(), 6, "Stopped before the work was done."),
    ],
)
def test_a_full_disk_or_a_person_ends_a_command_with_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, code: int, said: str
) -> None:
    """Wherever it is found, also where Python finds no folder for temporary files; or while it is only imported."""
    monkeypatch.setattr("proofsweep_cli.app.app_for", raising(error))

    assert app.run(["prune"]) == code
    assert capsys.readouterr().err == f"proofsweep: {said}\n"


def test_another_error_of_the_system_is_a_bug_of_ours_and_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proofsweep_cli.app.app_for", raising(OSError(errno.EBADF, "details")))

    with pytest.raises(OSError, match="details"):
        app.run(["prune"])


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--version", "2>&-"), 0),
        (("--version", ">&-"), 0),
        (("--version", ">&-", "2>&-", "<&-"), 0),
        (("resume", "2>/dev/full"), 2),
        (("--version", ">/dev/full"), 2),
    ],
)
@pytest.mark.usefixtures("workdir")
def test_streams_that_take_nothing_change_no_exit_code(arguments: tuple[str, ...], code: int) -> None:
    """Where stderr is closed or full, nothing is told; only what a full disk does not take of an answer is an error."""
    command = f"{sys.executable} -m proofsweep_cli {' '.join(arguments)}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)

    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
