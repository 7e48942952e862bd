"""The packages of this checkout, by the folder at its top that holds each, and what is in their modules."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = {"cli": "proofsweep_cli", "flows": "proofsweep_flows", "tasks": "proofsweep_tasks", "proofsweep": "proofsweep"}
PACKAGES = CORE | {"sandbox": "proofsweep_sandbox"}
"""All that have code."""


def modules_of(*folders: str) -> list[Path]:
    """Return the Python files below some folders of this checkout."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def nodes_of(module: Path) -> Iterator[ast.AST]:
    """Yield all nodes of a module's syntax tree."""
    return ast.walk(ast.parse(module.read_text()))


def name_of(module: Path) -> str:
    """Return a module's path in this checkout."""
    return str(module.relative_to(ROOT))
