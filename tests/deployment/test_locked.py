"""The part of the lock that goes into the image."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from itertools import chain

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .native_compose import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MARKERS = {"async-timeout", "pywin32", "whenever"}
"""Locked for other systems and newer Pythons: their markers exclude them here."""


def chosen(*what: str) -> str:
    """Run the script as the Dockerfile does."""
    command = [sys.executable, ROOT / "deploy" / "locked.py", *what]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def names(entries: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9._-]+)==", entries, re.MULTILINE))


def needed_by(asked: list[str]) -> set[str]:
    """Return all packages that some requirements need, by the metadata of what is installed here."""
    found, todo = set(), [(Requirement(text), "") for text in asked]
    seen: set[tuple[str, str]] = set()
    while todo:
        requirement, extra = todo.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        found.add(str(name))
        for wanted in {"", *requirement.extras} - {one for of, one in seen if of == name}:
            seen.add((name, wanted))
            todo += [(Requirement(text), wanted) for text in requires(name) or []]
    return found


EXTRAS = {name: parts for name, parts in PYPROJECT["project"]["optional-dependencies"].items() if name != "dev"}


@pytest.mark.parametrize("extras", [[], list(EXTRAS)], ids=" ".join)
def test_the_image_gets_exactly_what_the_product_needs(extras: list[str]) -> None:
    """By the metadata of the installed packages: the core, and what each chosen extra brings."""
    asked = [*PYPROJECT["project"]["dependencies"], *chain(*(EXTRAS[extra] for extra in extras))]

    assert names(chosen("product", *extras)) - MARKERS == needed_by(asked) - MARKERS
