import ast
import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("cli", "flows", "tasks", "proofsweep", "sandbox", "conformance")
EMPTY_WORDS = {"common", "data", "handler", "helper", "helpers", "info", "manager", "misc", "util", "utils"}


def words(name: str) -> set[str]:
    """Split a name in snake or camel case into words."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)}


@pytest.mark.parametrize("package", ["cli", "flows", "tasks"])
def test_no_module_has_the_name_of_a_library(package: str) -> None:
    """If a file is run by its path, its neighbours hide libraries of the same name."""
    ours = {module.stem for module in (ROOT / package).glob("*.py")} - {"__init__"}
    theirs = sys.stdlib_module_names | packages_distributions().keys()

    assert ours & theirs - set(PACKAGES) == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_no_name_has_an_empty_word(package: str) -> None:
    """A helper, a manager or some data is a noun that is not found yet."""
    modules = sorted((ROOT / package).rglob("*.py"))
    classes = [
        node.name
        for module in modules
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.ClassDef)
    ]

    assert [name for name in [module.stem for module in modules] + classes if words(name) & EMPTY_WORDS] == []
