"""`proofsweep demo`, end to end."""

import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from proofsweep_cli.app import run
from proofsweep_cli.demo import DemoFolder, example_sql

README = Path(__file__).parents[2] / "README.md"


def stable_lines(text: str) -> list[str]:
    """Return the lines of an output without the run's id, which differs each time."""
    return [re.sub(r"Run \w+", "Run …", line.rstrip()) for line in text.splitlines() if line.strip()]


def shown_in_readme() -> list[str]:
    """Return the lines of the demo's output that the README shows."""
    block = README.read_text(encoding="utf-8").partition("<!-- demo output -->\n```text\n")[2]
    return stable_lines(block.partition("```")[0])


def test_the_demo_verifies_a_catalog_and_leaves_its_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every row is as expected, both queries run, and the written settings lead to the run.

    A base URL in the environment has no effect: only the demo's sandbox gets the demo's key. The README shows lines
    that are really printed.
    """
    path = os.pathsep.join(path for path in sys.path if path)
    env = os.environ | {"PYTHONPATH": path, "PROOFSWEEP_SERVICE__BASE_URL": "http://127.0.0.1:1/v1"}
    command = [sys.executable, "-m", "proofsweep_cli", "demo"]

    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path, env=env)
    monkeypatch.chdir(tmp_path)
    later = run(["status", "--config", "demo/proofsweep.toml"])

    assert (done.returncode, done.stderr) == (0, f"proofsweep: New results store: {tmp_path}/demo/results\n")
    assert "60 of 60 rows as expected" in done.stdout
    assert "DuckDB\n  SELECT mode, verdict" in done.stdout
    assert "pandas\n  results.open_results('demo/results')" in done.stdout
    assert shown_in_readme() == [line for line in stable_lines(done.stdout) if line in shown_in_readme()]
    assert later == 0
    assert "complete" in capsys.readouterr().out


@pytest.mark.parametrize("folder", ["demo [1]", "it's", "a*b?"])
def test_the_query_of_a_demo_can_be_asked_in_any_folder(finished_run: str, workdir: Path, folder: str) -> None:
    """A browser names a second download so."""
    (workdir / "results").rename(workdir / folder)

    assert finished_run
    assert duckdb.sql(example_sql(folder)).fetchall()


def test_a_demo_replaces_an_earlier_one(tmp_path: Path) -> None:
    """What the earlier demo made is deleted; other files are kept."""
    earlier = DemoFolder(tmp_path / "demo")
    earlier.make_room()
    earlier.results.mkdir()
    (earlier.results / "old").touch()
    (earlier.root / "mine.txt").touch()

    DemoFolder(tmp_path / "demo").make_room()

    assert not earlier.results.exists()
    assert (earlier.root / "mine.txt").exists()


def test_a_demo_does_not_delete_through_a_link(tmp_path: Path) -> None:
    """A link may lead to a folder that the demo did not make."""
    (tmp_path / "music").mkdir()
    (tmp_path / "music" / "mine.wav").touch()
    demo_folder = DemoFolder(tmp_path / "demo")
    demo_folder.make_room()
    demo_folder.catalog.symlink_to(tmp_path / "music")

    with pytest.raises(Exception, match="cannot be used for a demo"):
        demo_folder.make_room()

    assert (tmp_path / "music" / "mine.wav").exists()
