import ast
import re
import sys
from collections import defaultdict
from importlib.metadata import packages_distributions
from itertools import combinations
from pathlib import Path

import pytest

from .packages import CORE, PACKAGES, ROOT

FOLDERS = (*PACKAGES, "benchmarks", "tests")
EMPTY_WORDS = {"common", "data", "handler", "helper", "helpers", "info", "manager", "misc", "util", "utils"}


def words(name: str) -> set[str]:
    """Split a name in snake or camel case into words."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)}


def classes_of(module: Path) -> list[str]:
    """Return the names of the classes that a module defines."""
    return [node.name for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.ClassDef)]


def differ_by_a_letter(one: str, other: str) -> bool:
    """Return whether one letter makes one name the other: added, removed or replaced."""
    if len(one) == len(other):
        return sum(left != right for left, right in zip(one, other, strict=True)) == 1
    short, long = sorted((one, other), key=len)
    return short in {long[:at] + long[at + 1 :] for at in range(len(long))}


@pytest.mark.parametrize("package", ["cli", "flows", "tasks"])
def test_no_module_has_the_name_of_a_library(package: str) -> None:
    """If a file is run by its path, its neighbours hide libraries of the same name."""
    ours = {module.stem for module in (ROOT / package).rglob("*.py")} - {"__init__", "__main__"}
    theirs = sys.stdlib_module_names | packages_distributions().keys()

    assert ours & theirs == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_no_name_has_an_empty_word(package: str) -> None:
    """A helper, a manager or some data is a noun that is not found yet."""
    modules = sorted((ROOT / package).rglob("*.py"))
    classes = [name for module in modules for name in classes_of(module)]

    assert [name for name in [module.stem for module in modules] + classes if words(name) & EMPTY_WORDS] == []


def test_a_class_name_exists_once() -> None:
    """A name leads to one class, even if the class is private: a reader who searches for it finds no other."""
    places: dict[str, list[str]] = defaultdict(list)
    for module in sorted(module for package in CORE for module in (ROOT / package).rglob("*.py")):
        for name in classes_of(module):
            places[name].append(str(module.relative_to(ROOT)))

    assert {name: modules for name, modules in places.items() if len(modules) > 1} == {}


@pytest.mark.parametrize("folder", FOLDERS)
def test_file_names_of_a_folder_differ_by_more_than_a_letter(folder: str) -> None:
    """`bucket.py` and `buckets.py` in one folder are easy to confuse."""
    modules = sorted((ROOT / folder).rglob("*.py"))

    assert [
        f"{one.relative_to(ROOT)} and {other.name}"
        for one, other in combinations(modules, 2)
        if one.parent == other.parent and differ_by_a_letter(one.stem, other.stem)
    ] == []


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("bucket", "buckets", True),
        ("legs", "legs_", True),
        ("form", "from", False),
        ("cut", "cat", True),
        ("leg", "legacy", False),
    ],
)
def test_a_letter_more_less_or_other_is_a_difference_of_a_letter(one: str, other: str, *, expected: bool) -> None:
    """The rule above is able to fail, in both directions."""
    assert differ_by_a_letter(one, other) == differ_by_a_letter(other, one) == expected
