"""The scripts around the Compose files."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from .native_compose import ROOT


def test_secrets_are_private_and_kept(made_secrets: Path) -> None:
    """The folder's mode excludes other users; the files' mode lets the user of a container read.

    A second start keeps the database's password.
    """
    before = {path: path.read_text() for path in made_secrets.iterdir()}

    ended = subprocess.run([made_secrets.parent / "make-secrets"], check=True, capture_output=True, text=True)

    assert stat.S_IMODE(made_secrets.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in before} == {0o444}
    assert all(len(secret.strip()) >= 20 for secret in before.values())
    assert {path: path.read_text() for path in made_secrets.iterdir()} == before
    assert ended.stdout == ""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the scripts, and with a docker that prints how it is called."""
    for name in ("make-secrets", "up"):
        script = tmp_path / "deploy" / name
        script.parent.mkdir(exist_ok=True)
        script.write_bytes((ROOT / "deploy" / name).read_bytes())
        script.chmod(0o755)
    (tmp_path / "docker").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "docker").chmod(0o755)
    return tmp_path


def up(checkout: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run `deploy/up`, as `make up` does."""
    path = f"{checkout}:{os.environ['PATH']}"
    return subprocess.run(
        [checkout / "deploy" / "up"], env={"PATH": path} | variables, check=False, capture_output=True, text=True
    )


def write_key(checkout: Path) -> None:
    """Put a partner's key where a person puts it."""
    (checkout / "deploy" / "secrets").mkdir(exist_ok=True)
    (checkout / "deploy" / "secrets" / "partner-key").write_text("pk_1\n")


URL = "PROOFSWEEP_SERVICE__BASE_URL"


@pytest.mark.parametrize("lines", ["", "# no URL\n", f"{URL}=\n", f"#{URL}=https://partner.example/v1\n"])
def test_a_trial_needs_no_settings(checkout: Path, lines: str) -> None:
    """Without a key and a base URL, the sandbox takes the partner's place."""
    (checkout / ".env").write_text(lines)

    started = up(checkout)

    assert started.returncode == 0
    assert "compose up --build --detach --remove-orphans" in started.stdout
    assert "COMPOSE_FILE=docker-compose.yml:docker-compose.sandbox.yml\n" in (checkout / ".env").read_text()
    assert set(lines.splitlines()) <= set((checkout / ".env").read_text().splitlines())


@pytest.mark.parametrize("line", [f"{URL}=https://partner.example/v1", f"  export {URL}='https://partner.example/v1'"])
def test_a_trial_becomes_real_and_a_choice_of_files_stays(checkout: Path, line: str) -> None:
    """Each start leaves what Compose reads; a person's own COMPOSE_FILE and all other lines are kept.

    A sandbox that a trial has left is ended.
    """
    up(checkout)
    (checkout / ".env").write_text((checkout / ".env").read_text() + f"{line}\n")
    write_key(checkout)
    started = up(checkout)
    real = (checkout / ".env").read_text().splitlines()
    (checkout / ".env").write_text("\n".join([*real[:-1], "COMPOSE_FILE=docker-compose.yml:ours.yml"]) + "\n")
    up(checkout)

    assert started.returncode == 0
    assert "compose up --build --detach --remove-orphans" in started.stdout
    assert sorted(real) == sorted(["SECRETS_FOLDER=deploy/secrets", line, "COMPOSE_FILE=docker-compose.yml"])
    assert "COMPOSE_FILE=docker-compose.yml:ours.yml" in (checkout / ".env").read_text().splitlines()


def test_settings_that_only_their_owner_reads_stay_so(checkout: Path) -> None:
    """`.env` may hold a bucket's keys."""
    (checkout / ".env").write_text("AWS_SECRET_ACCESS_KEY=x\n")
    (checkout / ".env").chmod(0o600)

    up(checkout)

    assert (checkout / ".env").stat().st_mode & 0o777 == 0o600
    assert "COMPOSE_FILE=" in (checkout / ".env").read_text()


@pytest.mark.parametrize("has_key", [True, False])
def test_half_of_a_real_installation_starts_nothing(checkout: Path, *, has_key: bool) -> None:
    """A key without its URL, or a URL without its key, is neither a trial nor a real run."""
    if has_key:
        write_key(checkout)

    started = up(checkout, **({} if has_key else {URL: "https://partner.example/v1"}))

    assert started.returncode == 2
    assert "docker-compose" not in started.stdout
    assert started.stderr.count("\n") == 1
    assert ("PROOFSWEEP_SERVICE__BASE_URL is not set" in started.stderr) == has_key


def with_secrets(*command: str, **given: object) -> "subprocess.CompletedProcess[str]":
    """Run a command by the script, with some variables."""
    environ = {"PATH": os.environ["PATH"]} | {name: str(value) for name, value in given.items()}
    command = (str(ROOT / "deploy" / "with-secrets"), *command)
    return subprocess.run(command, env=environ, check=False, capture_output=True, text=True)


def test_a_program_gets_the_content_of_its_secret_file(tmp_path: Path) -> None:
    """The variable has the file's content, even quotes and dollar signs; other `_FILE` variables stay."""
    (tmp_path / "key").write_text("""it's "$HOME" \\n\n""")

    ended = with_secrets("env", "-0", AWS_SECRET_ACCESS_KEY_FILE=tmp_path / "key", OTHER_FILE="stays")

    variables = dict(line.split("=", 1) for line in ended.stdout.split("\0") if line)
    assert variables["AWS_SECRET_ACCESS_KEY"] == """it's "$HOME" \\n"""
    assert variables["OTHER_FILE"] == "stays"
    assert "AWS_SECRET_ACCESS_KEY_FILE" not in variables


def test_an_unreadable_secret_is_reported(tmp_path: Path) -> None:
    """One line names the variable, and the program does not run."""
    ended = with_secrets("echo", "ran", PREFECT_API_AUTH_STRING_FILE=tmp_path / "none")

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    assert "PREFECT_API_AUTH_STRING_FILE" in ended.stderr
