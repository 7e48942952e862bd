import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from .packages import PACKAGES, ROOT, modules_of

LONGEST_FUNCTION = 60
LONGEST_MODULE = {"cli": 500, "flows": 120, "tasks": 120, "proofsweep": 500, "sandbox": 500}


def functions(module: Path) -> Iterator[tuple[str, int]]:
    """Yield each function's name and number of lines, its docstring included."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


@pytest.mark.parametrize("package", PACKAGES)
def test_no_function_is_too_long(package: str) -> None:
    """A function fits on a screen, docstring included."""
    too_long = [
        f"{module.relative_to(ROOT)}: {name} has {lines} lines"
        for module in modules_of(package)
        for name, lines in functions(module)
        if lines > LONGEST_FUNCTION
    ]

    assert too_long == []


@pytest.mark.parametrize(("package", "longest"), LONGEST_MODULE.items())
def test_no_module_is_too_long(package: str, longest: int) -> None:
    """A module has one meaning; flows and tasks are shorter still."""
    lengths = {module: len(module.read_text().splitlines()) for module in modules_of(package)}

    too_long = [f"{module.relative_to(ROOT)}: {lines}" for module, lines in lengths.items() if lines > longest]

    assert too_long == []
