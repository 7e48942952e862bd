import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

from .packages import CORE, PACKAGES, ROOT, modules_of

EMPTY_WORDS = {"common", "data", "handler", "helper", "helpers", "info", "manager", "misc", "util", "utils"}


def words(name: str) -> set[str]:
    """Split a name in snake or camel case into words."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)}


def classes_of(module: Path) -> list[str]:
    """Return the names of the classes that a module defines."""
    return [node.name for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.ClassDef)]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_name_has_an_empty_word(package: str) -> None:
    """A helper, a manager or some data is a noun that is not found yet."""
    modules = modules_of(package)
    classes = [name for module in modules for name in classes_of(module)]

    assert [name for name in [module.stem for module in modules] + classes if words(name) & EMPTY_WORDS] == []


def test_a_class_name_exists_once() -> None:
    """A name leads to one class, even if the class is private: a reader who searches for it finds no other."""
    places: dict[str, list[str]] = defaultdict(list)
    for module in modules_of(*CORE):
        for name in classes_of(module):
            places[name].append(str(module.relative_to(ROOT)))

    assert {name: modules for name, modules in places.items() if len(modules) > 1} == {}
