"""Machines as they are: files that Windows wrote, a home that cannot be written, a folder that is gone."""

import os
import pwd
from pathlib import Path
from typing import NoReturn

import pytest

from .conftest import Command

ENCODINGS = ["utf-8-sig", "utf-16", "utf-16-be"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_what_an_editor_of_windows_saved_is_read(
    proofsweep: Command, workdir: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    """Key, config and alert URLs may have a byte order mark, UTF-16, line ends of Windows and empty lines."""
    key = Path(os.environ["PROOFSWEEP_SERVICE__API_KEY_FILE"]).read_text()

    def saved(name: str, *lines: str) -> Path:
        path = workdir / name
        path.write_bytes("".join(f"{line}\r\n" for line in (*lines, "")).encode(encoding))
        return path

    urls = saved("urls", "# the night shift", "", "json://127.0.0.1:1/")
    config = saved(
        "our.toml",
        "[service]",
        'environment = "sandbox"',
        f'base_url = "{os.environ["PROOFSWEEP_SERVICE__BASE_URL"]}"',
        f"api_key_file = '{saved('key', key)}'",
        "[alerts]",
        f"urls_file = '{urls}'",
    )
    for name in ("BASE_URL", "API_KEY_FILE"):
        monkeypatch.delenv(f"PROOFSWEEP_SERVICE__{name}")

    done = proofsweep("doctor", "--config", config)
    told = proofsweep("alerts", "test", "--config", config)

    assert (done.returncode, done.stderr) == (0, "")
    assert "accepts the key" in done.stdout
    assert told.returncode == 4  # nobody listens there
    assert key.strip() not in done.stdout + told.stdout + told.stderr


def test_a_mark_in_a_variable_is_no_letter_of_the_key(proofsweep: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell reads it from a file with the key."""
    key = Path(os.environ["PROOFSWEEP_SERVICE__API_KEY_FILE"]).read_text()
    monkeypatch.delenv("PROOFSWEEP_SERVICE__API_KEY_FILE")
    monkeypatch.setenv("PROOFSWEEP_SERVICE__API_KEY_ENV", "OUR_KEY")
    monkeypatch.setenv("OUR_KEY", f"\ufeff{key}")

    assert proofsweep("service", "usage").returncode == 0


@pytest.mark.parametrize("variable", ["HOME", "PREFECT_HOME"])
def test_a_home_that_cannot_be_written_is_named(
    proofsweep: Command, catalog: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """Nothing is planned, and one line says what to set. What needs no Prefect server needs no home."""
    (workdir / "file").touch()
    for name in ("PREFECT_API_URL", "PREFECT_HOME", "PREFECT_PROFILES_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(workdir / "file" / "home"))

    done = proofsweep("verify", catalog)

    assert done.returncode == 2
    assert f"Prefect's home {workdir}/file/home" in done.stderr
    assert "cannot be written (Not a directory): let PREFECT_HOME name a folder that can be.\n" in done.stderr
    assert (done.stderr.count("\n"), list(workdir.glob("results/*"))) == (1, [])
    for command in (["plan", catalog], ["check", next(catalog.rglob("*.wav"))]):
        assert proofsweep(*command).stderr == ""


@pytest.mark.parametrize("command", ["verify", "check", "doctor", "sandbox"])
def test_certificates_that_lead_nowhere_are_named(
    proofsweep: Command, catalog: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Exit 2 with the variable, before anything is planned; what only reads the store needs none."""
    monkeypatch.setenv("SSLKEYLOGFILE", "nowhere/keys.log")
    arguments = {"verify": [catalog], "check": [next(catalog.rglob("*.wav"))]}

    done = proofsweep(command, *arguments.get(command, []))

    assert done.returncode == 2
    assert "SSLKEYLOGFILE names nowhere/keys.log, which cannot be used" in done.stdout + done.stderr
    assert "SSLKEYLOGFILE" not in proofsweep("status").stderr


def test_a_user_without_a_home_is_told_to_set_prefects(
    proofsweep: Command, catalog: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prefect asks for the user's home when it is imported, so nothing is planned without one."""
    for name in ("PREFECT_API_URL", "PREFECT_HOME", "PREFECT_PROFILES_PATH", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", without_entry)

    done = proofsweep("verify", catalog)

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "This user has no home, where Prefect keeps its database: set PREFECT_HOME." in done.stderr
    assert list(workdir.glob("results/_runs")) == []


def without_entry(number: int) -> NoReturn:
    """Know no user, as in a container that runs as any number."""
    raise KeyError(number)
