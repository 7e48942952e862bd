"""`--help` of every command, and the docs that are made from it."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from proofsweep import __version__
from proofsweep_cli.app import whole_app
from proofsweep_cli.exit_codes import ExitCode

from .conftest import Command

ROOT = Path(__file__).parents[2]
WITHOUT_EXAMPLE = {"proofsweep", *(f"proofsweep {group}" for group in ("proofs", "keys", "service", "alerts"))}


def walked(path: str, command: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - click's or typer's own class
    """Walk through a command and what is below it."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from walked(f"{path} {name}", below)


def commands() -> dict[str, Any]:
    """Return each command, and each group of some, by what a person types."""
    return dict(walked("proofsweep", typer.main.get_command(whole_app())))


def test_every_command_has_help_an_example_and_at_most_twelve_options(proofsweep: Command) -> None:
    """Help needs no settings and no call, and its exit code is 0; so it is after `--`, the end of options.

    A person copies the example; only the main help and groups have none. What is set once belongs to the config.
    """
    for path, command in commands().items():
        done = proofsweep(*path.split()[1:], "--help")

        assert (path, done.returncode) == (path, 0)
        assert path in done.stdout
        assert (path, "Example" in (command.help or "")) == (path, path not in WITHOUT_EXAMPLE)
        assert (path, sum(each.param_type_name == "option" for each in command.params) <= 12) == (path, True)
    assert "proofsweep status" in proofsweep("--", "status", "--help").stdout


def test_the_main_help_names_commands(proofsweep: Command) -> None:
    """The bare name prints the same help, as a usage error; so is a name that is none."""
    helped = proofsweep("--help")

    assert helped.returncode == 0
    assert all(name in helped.stdout for name in typer.main.get_command(whole_app()).commands)
    assert [proofsweep(*words).returncode for words in ((), ("verfy",))] == [2, 2]


def test_the_version_is_printed(proofsweep: Command) -> None:
    """One line, for problem reports."""
    done = proofsweep("--version")

    assert (done.returncode, done.stdout) == (0, f"proofsweep {__version__}\n")


def test_generated_blocks_of_the_docs_match_the_code() -> None:
    """Help texts and the tables' columns are rendered from the code; `python docs/render.py` renews them."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}

    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "render.py", "--check"], check=False, capture_output=True, env=env, text=True
    )

    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_docs_list_every_exit_code() -> None:
    """Each code has a row with its meaning."""
    table = (ROOT / "docs" / "command-line.md").read_text().partition("## Exit codes\n")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| (\d+) \|", table, re.MULTILINE)

    assert [int(code) for code in listed] == sorted(ExitCode)
