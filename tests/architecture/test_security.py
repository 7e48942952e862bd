"""SECURITY.md names tests that there are."""

import ast
import re
from pathlib import Path

import pytest

from .packages import ROOT

PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)))


def names_of_tests_in(module: Path) -> set[str]:
    """Return the names of the tests in a file."""
    return {node.name for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_each_named_test_is_there(file: str, test: str) -> None:
    """A promise whose test was renamed or deleted is seen."""
    assert (ROOT / file).is_file()
    assert not test or test in names_of_tests_in(ROOT / file)


def test_each_line_of_a_table_names_its_test() -> None:
    """A line without a test would be a hope."""
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| what")]

    assert len(rows) > 20
    assert [row for row in rows if "`tests/" not in row] == []


def test_a_prefect_server_of_ours_tells_nobody_of_its_use() -> None:
    """By default Prefect sends its makers what is run."""
    for file in ("Dockerfile", "cli/proofsweep_cli/embedded_server.py", "deploy/systemd/proofsweep-prefect.service"):
        text = (ROOT / file).read_text()
        assert re.search(r'PREFECT_SERVER_ANALYTICS_ENABLED"?[=:] ?"?false', text), file
        assert re.search(r'DO_NOT_TRACK"?[=:] ?"?1', text), file
