"""What cannot be done is said in one line, with the right exit code, and leaves nothing behind."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

import sandbox

Command = Callable[..., CompletedProcess[str]]


def said_in_one_line(done: CompletedProcess[str], words: str) -> bool:
    """Say whether a command complained about something on one line of stderr, and printed no result."""
    return words in done.stderr and done.stderr.count("\n") == 1 and "Traceback" not in done.stderr + done.stdout


@pytest.fixture(params=["verify", "check"])
def asked(request: pytest.FixtureRequest, catalog: Path) -> list[str | Path]:
    """The arguments of a command that sends audio."""
    return [request.param, catalog if request.param == "verify" else next(catalog.rglob("*.wav"))]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"SERVICE__API_KEY_FILE": "nowhere/key"}, "key file nowhere/key cannot be read"),
        ({"SERVICE__API_KEY_FILE": "", "SERVICE__API_KEY_ENV": "NO_SUCH_VARIABLE"}, "NO_SUCH_VARIABLE holds no key"),
        ({"SERVICE__BASE_URL": "https://partner.example"}, "service.base_url: must end in the path segment /v1"),
        ({"SERVICE__BASE_URL": "http://partner.example/v1"}, "plain http"),
        ({"SERVICE__BASE_URL": "https://me:secret@partner.example/v1"}, "no user name or password"),
        ({"PACE__WORKRES": "4"}, "pace.workres"),
        ({"PACE__WORKERS": "many"}, "pace.workers"),
        ({"RESULTS__URL": "s3://me:secret@bucket/results"}, "must hold no credentials"),
        ({"CATALOG__SIDECAR_NAMES": "not json"}, "catalog"),
        ({"CONFIG": "prodution"}, "There is no profile 'prodution'"),
        ({"CONFIG": "nowhere.toml"}, "The config nowhere.toml cannot be read"),
    ],
)
def test_a_setting_that_cannot_be_is_named(
    proofsweep: Command,
    asked: list[str | Path],
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, str],
    words: str,
) -> None:
    """Exit code 2, before any call and before anything is written; a secret in a setting is not repeated."""
    for name, value in settings.items():
        monkeypatch.setenv(f"PROOFSWEEP_{name}", value)

    done = proofsweep(*asked)

    assert done.returncode == 2
    assert said_in_one_line(done, words)
    assert "secret" not in done.stderr
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(("option", "words"), [("--results", "place is empty"), ("--config", "no profile ''")])
def test_an_option_left_empty_is_not_taken_for_its_default(
    proofsweep: Command, workdir: Path, catalog: Path, option: str, words: str
) -> None:
    """`--results "$PLACE"` with PLACE unset must not fill a folder that nobody named."""
    done = proofsweep("verify", catalog, option, "")

    assert done.returncode == 2
    assert said_in_one_line(done, words)
    assert list(workdir.iterdir()) == []


def test_a_config_that_is_no_toml_is_named(proofsweep: Command, workdir: Path, catalog: Path) -> None:
    """The message says which file, and where in it."""
    (workdir / "mine.toml").write_text("[service\n")

    done = proofsweep("verify", catalog, "--config", "mine.toml")

    assert done.returncode == 2
    assert said_in_one_line(done, "The config mine.toml is no TOML")


def test_a_web_site_is_told_from_the_partner(
    proofsweep: Command, workdir: Path, asked: list[str | Path], other_site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something that answers, but not as the partner does, is a wrong base URL: the person's to mend."""
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", other_site)

    done = proofsweep(*asked)

    assert done.returncode == 2
    assert said_in_one_line(done, "check service.base_url")
    assert list(workdir.iterdir()) == []


def test_an_address_without_the_partners_paths_is_a_wrong_base_url(
    proofsweep: Command, workdir: Path, catalog: Path, running: sandbox.Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A 404 from the very first call means that the API is elsewhere."""
    elsewhere = running.base_url.replace("/v1", "/api/v1")
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", elsewhere)

    done = proofsweep("verify", catalog)

    assert done.returncode == 2
    assert said_in_one_line(done, "is not the partner's API")
    assert list(workdir.iterdir()) == []


def test_a_service_that_is_down_is_said(
    proofsweep: Command, workdir: Path, asked: list[str | Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody listening is not the person's mistake: exit code 8, and nothing written."""
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("PROOFSWEEP_RETRY__FIRST_WAIT_SECONDS", "0.01")

    done = proofsweep(*asked)

    assert done.returncode == 8
    assert said_in_one_line(done, "does not answer")
    assert list(workdir.iterdir()) == []


@pytest.mark.parametrize("command", [["verify", "music"], ["demo"]])
def test_a_configured_prefect_server_that_is_down_is_said(
    proofsweep: Command, workdir: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    """It is said at once and in one line, before a run is planned that could not begin."""
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:1/api")

    done = proofsweep(*command)

    assert done.returncode == 2
    assert said_in_one_line(done, "No Prefect server answers at http://127.0.0.1:1/api")
    assert list(workdir.iterdir()) == []


def test_a_server_that_is_no_prefect_server_is_said(workdir: Path, catalog: Path, other_site: str) -> None:
    """It answered, so the run was planned; the line says how to go on with it when the address is right."""
    env = os.environ | {"PREFECT_API_URL": other_site, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

    done = subprocess.run(
        [sys.executable, "-m", "cli", "verify", catalog],
        check=False,
        capture_output=True,
        text=True,
        cwd=workdir,
        env=env,
    )

    assert done.returncode == 6
    assert said_in_one_line(done, "The Prefect server failed")
    assert "proofsweep resume" in done.stderr


def test_only_the_active_prefect_profile_counts(
    proofsweep: Command, workdir: Path, catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that another profile names is not asked for."""
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

    assert said_in_one_line(by_default, "http://127.0.0.1:1/home")
    assert said_in_one_line(by_name, "http://127.0.0.1:1/work")
    assert list(workdir.iterdir()) == []


def test_a_key_that_is_refused_is_said(
    proofsweep: Command, workdir: Path, asked: list[str | Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A 403 from the API is the key's: exit code 7."""
    (tmp_path / "wrong").write_text("not-a-key-of-the-sandbox")
    monkeypatch.setenv("PROOFSWEEP_SERVICE__API_KEY_FILE", str(tmp_path / "wrong"))

    done = proofsweep(*asked)

    assert done.returncode == 7
    assert said_in_one_line(done, "refuse")
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
        ("song.flac", "fLaC", "song.flac"),
    ],
)
def test_a_catalog_that_cannot_be_read_is_named(
    proofsweep: Command, name: str, content: str | None, words: str, command: str
) -> None:
    """Exit code 2, and no results store."""
    if content is not None:
        Path(name).write_text(content)

    done = proofsweep(command, name)

    assert done.returncode == 2
    assert said_in_one_line(done, words)
    assert not Path("results").exists()


def test_a_folder_without_audio_is_an_empty_catalog(proofsweep: Command, workdir: Path) -> None:
    """Nothing to verify is a mistake in what was asked for."""
    (workdir / "music").mkdir()
    (workdir / "music" / "notes.txt").write_text("Recorded at home.")

    done = proofsweep("verify", "music")

    assert done.returncode == 2
    assert said_in_one_line(done, "music")
    assert not (workdir / "results").exists()


def test_results_that_cannot_be_written_are_said(proofsweep: Command, workdir: Path, catalog: Path) -> None:
    """A file is in the way of the folder; it stays as it is."""
    (workdir / "results").write_text("mine")

    done = proofsweep("verify", catalog)

    assert done.returncode == 2
    assert said_in_one_line(done, "results")
    assert (workdir / "results").read_text() == "mine"


@pytest.fixture(params=["verify", "plan", "check"])
def asked_with_pairs(request: pytest.FixtureRequest, catalog: Path) -> list[str | Path]:
    """The arguments of a command that would have a pair verified."""
    audio = next(path for path in catalog.rglob("*.mp3") if path.with_name(f"{path.name}.sidecar").exists())
    return ["check", audio, f"{audio}.sidecar"] if request.param == "check" else [request.param, catalog]


def test_pairs_are_refused_until_the_wire_name_is_known(
    proofsweep: Command, workdir: Path, asked_with_pairs: list[str | Path], running: sandbox.Running, tmp_path: Path
) -> None:
    """A service passes over a field that it does not know, and would verify the audio alone: a false `unreadable`."""
    (tmp_path / "unnamed.toml").write_text('[service]\nenvironment = "beta"\n')
    spent = len(running.operator.exchanges())

    done = proofsweep(*asked_with_pairs, "--config", tmp_path / "unnamed.toml")

    assert done.returncode == 2
    assert said_in_one_line(done, "service.sidecar_field")
    assert list(workdir.iterdir()) == []
    assert len(running.operator.exchanges()) == spent


def test_a_key_is_not_sent_to_another_service(
    proofsweep: Command, workdir: Path, catalog: Path, finished_run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys belong to one environment: one that was used is refused at another base URL, before any call."""
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", "http://127.0.0.1:1/v1")

    done = proofsweep("verify", catalog)

    assert done.returncode == 2
    assert said_in_one_line(done, "This key was used with")
    assert [path.name for path in (workdir / "results" / "_runs").iterdir()] == [finished_run]


@pytest.mark.parametrize("command", ["status", "resume"])
def test_an_unknown_run_is_said(proofsweep: Command, finished_run: str, workdir: Path, command: str) -> None:
    """A run is named as the store names it; a path is no name."""
    del finished_run
    before = sorted((workdir / "results").rglob("*"))

    done = proofsweep(command, "../results")

    assert done.returncode == 2
    assert said_in_one_line(done, "There is no run '../results'")
    assert sorted((workdir / "results").rglob("*")) == before


@pytest.mark.parametrize("command", ["status", "resume"])
def test_without_a_run_there_is_nothing_to_look_at(proofsweep: Command, workdir: Path, command: str) -> None:
    """An empty place is not made into a results store by looking."""
    done = proofsweep(command)

    assert done.returncode == 2
    assert said_in_one_line(done, "There is no run in")
    assert list(workdir.iterdir()) == []


def test_a_folder_of_somebody_elses_is_no_place_for_a_demo(proofsweep: Command, workdir: Path) -> None:
    """A demo replaces an earlier demo, and nothing else."""
    (workdir / "demo" / "catalog").mkdir(parents=True)
    (workdir / "demo" / "catalog" / "mine.wav").write_text("mine")

    done = proofsweep("demo")

    assert done.returncode == 2
    assert said_in_one_line(done, "--folder")
    assert (workdir / "demo" / "catalog" / "mine.wav").read_text() == "mine"


def test_a_command_that_is_not_there_is_a_usage_error(proofsweep: Command) -> None:
    """The shell's own mistakes have exit code 2 too."""
    done = proofsweep("verfy")

    assert done.returncode == 2
    assert "verfy" in done.stderr
