"""A command that is printed can be typed as it stands: names that are options, or hold blanks, are written so."""

import shlex
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from proofsweep_cli.command import CommandRequest

FOR_STORE = CommandRequest(results="my results", config="night's.toml")
PLAIN = CommandRequest()


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (PLAIN.command("resume", "run"), "proofsweep resume run"),
        (PLAIN.command("stop", "run", for_good=True), "proofsweep stop --for-good run"),
        (PLAIN.command("export", only="failed", by=None), "proofsweep export --only failed"),
        (FOR_STORE.command("status"), "proofsweep status --results 'my results' --config \"night's.toml\""),
        (PLAIN.command("verify", "my music"), "proofsweep verify 'my music'"),
        (PLAIN.command("explain", "-1"), "proofsweep explain -- -1"),
        (FOR_STORE.command("explain", "-1").partition(" --config")[0], "proofsweep explain --results 'my results'"),
        (CommandRequest(results="-r").command("explain", "--", "a b"), "proofsweep explain --results=-r -- -- 'a b'"),
    ],
)
def test_a_printed_command_is_written_for_a_shell(printed: str, expected: str) -> None:
    """An argument that begins with a hyphen comes after `--`, and such a value after a `=`."""
    assert printed == expected


@pytest.mark.parametrize("argument", ["-1", "--all", "a b", "it's", '$HOME "x"'])
def test_what_is_typed_is_what_was_meant(argument: str) -> None:
    """Read by a shell and by the library that reads our options."""
    seen: list[tuple[str, str | None]] = []
    app = typer.Typer()

    @app.command()
    def explain(what: str, results: str | None = None) -> None:
        seen.append((what, results))

    _, _, *typed = shlex.split(CommandRequest(results=argument).command("explain", argument))

    assert CliRunner().invoke(app, typed).exit_code == 0
    assert seen == [(argument, argument)]


@pytest.mark.parametrize(
    ("started", "on_path", "expected"),
    [
        ("venv/bin/proofsweep", True, "proofsweep status"),
        ("my venv/bin/proofsweep", False, "'my venv/bin/proofsweep' status"),
        ("proofsweep_cli/__main__.py", True, "proofsweep status"),
        ("proofsweep_cli/__main__.py", False, f"{shlex.quote(sys.executable)} -m proofsweep_cli status"),
    ],
)
def test_the_program_is_named_as_a_shell_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: str, expected: str, *, on_path: bool
) -> None:
    """Its path is printed only where its name alone leads nowhere."""
    if on_path:
        (tmp_path / "proofsweep").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [started])

    assert PLAIN.command("status") == expected
