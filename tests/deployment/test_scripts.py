"""The two scripts that docker-compose.yml needs."""

import os
import stat
import subprocess
from pathlib import Path

from .native_compose import ROOT

WITH_SECRETS = ROOT / "deploy" / "with-secrets"


def test_secrets_are_private_and_readable_in_a_container(made_secrets: Path) -> None:
    """The folder's mode excludes other users; the files' mode lets the user of a container read."""
    assert stat.S_IMODE(made_secrets.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in made_secrets.iterdir()} == {0o444}
    assert all(len(path.read_text().strip()) >= 20 for path in made_secrets.iterdir())


def test_an_existing_secret_is_kept(made_secrets: Path) -> None:
    """A second start keeps the database's password."""
    before = {path: path.read_text() for path in made_secrets.iterdir()}

    ended = subprocess.run([made_secrets.parent / "make-secrets"], check=True, capture_output=True, text=True)

    assert {path: path.read_text() for path in made_secrets.iterdir()} == before
    assert ended.stdout == ""


def test_a_program_gets_the_content_of_its_secret_file(tmp_path: Path) -> None:
    """The variable has the file's content, even quotes and dollar signs; other `_FILE` variables stay."""
    (tmp_path / "key").write_text("""it's "$HOME" \\n\n""")
    given = {"AWS_SECRET_ACCESS_KEY_FILE": str(tmp_path / "key"), "OTHER_FILE": "stays"}

    ended = subprocess.run(
        [WITH_SECRETS, "env", "-0"],
        env={"PATH": os.environ["PATH"]} | given,
        check=True,
        capture_output=True,
        text=True,
    )

    variables = dict(line.split("=", 1) for line in ended.stdout.split("\0") if line)
    assert variables["AWS_SECRET_ACCESS_KEY"] == """it's "$HOME" \\n"""
    assert variables["OTHER_FILE"] == "stays"
    assert "AWS_SECRET_ACCESS_KEY_FILE" not in variables


def test_an_unreadable_secret_is_reported(tmp_path: Path) -> None:
    """One line names the variable, and the program does not run."""
    given = {"PREFECT_API_AUTH_STRING_FILE": str(tmp_path / "none")}

    ended = subprocess.run(
        [WITH_SECRETS, "echo", "ran"],
        env={"PATH": os.environ["PATH"]} | given,
        check=False,
        capture_output=True,
        text=True,
    )

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    assert "PREFECT_API_AUTH_STRING_FILE" in ended.stderr
