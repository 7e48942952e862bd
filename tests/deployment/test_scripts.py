"""The two scripts beside docker-compose.yml."""

import os
import stat
import subprocess
from pathlib import Path

from .natively import ROOT

WITH_SECRETS = ROOT / "deploy" / "with-secrets"


def test_secrets_are_their_owners_alone_and_readable_in_a_container(made_secrets: Path) -> None:
    """The folder keeps others out; the files' own mode is what a container, which is somebody else, meets."""
    assert stat.S_IMODE(made_secrets.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in made_secrets.iterdir()} == {0o444}
    assert all(len(path.read_text().strip()) >= 20 for path in made_secrets.iterdir())


def test_a_secret_that_is_there_is_kept(made_secrets: Path) -> None:
    """The second start finds the database's password as it was."""
    before = {path: path.read_text() for path in made_secrets.iterdir()}

    told = subprocess.run([made_secrets.parent / "make-secrets"], check=True, capture_output=True, text=True)

    assert {path: path.read_text() for path in made_secrets.iterdir()} == before
    assert told.stdout == ""


def test_a_program_gets_its_secret_and_not_the_file(tmp_path: Path) -> None:
    """The variable holds what the file holds, quotes and dollars included; other `_FILE` variables stay."""
    (tmp_path / "key").write_text("""it's "$HOME" \\n\n""")
    given = {"AWS_SECRET_ACCESS_KEY_FILE": str(tmp_path / "key"), "OTHER_FILE": "stays"}

    told = subprocess.run(
        [WITH_SECRETS, "env", "-0"],
        env={"PATH": os.environ["PATH"]} | given,
        check=True,
        capture_output=True,
        text=True,
    )

    variables = dict(line.split("=", 1) for line in told.stdout.split("\0") if line)
    assert variables["AWS_SECRET_ACCESS_KEY"] == """it's "$HOME" \\n"""
    assert variables["OTHER_FILE"] == "stays"
    assert "AWS_SECRET_ACCESS_KEY_FILE" not in variables


def test_a_secret_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    """One line that names variable and file, and the program does not run."""
    given = {"PREFECT_API_AUTH_STRING_FILE": str(tmp_path / "none")}

    told = subprocess.run(
        [WITH_SECRETS, "echo", "ran"],
        env={"PATH": os.environ["PATH"]} | given,
        check=False,
        capture_output=True,
        text=True,
    )

    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.count("\n") == 1
    assert "PREFECT_API_AUTH_STRING_FILE" in told.stderr
