import ast
import re
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import packages_distributions, requires
from itertools import chain
from subprocess import run

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .packages import PACKAGES, ROOT, modules_of

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BOUNDS = {"sqlalchemy"}
"""Declared only to limit the version that another dependency may use."""

OPTIONAL = PROJECT["optional-dependencies"]
EXTRAS = {name: parts for name, parts in OPTIONAL.items() if name != "dev"}
IMPORTED_BY_OTHERS = {"boto3"}
"""Declared since another dependency imports it where it is installed: obstore, for the profiles of `~/.aws`."""

BROUGHT = {"dask"}
"""Imported, and brought in the right version by another one of the same extra."""

MARKERS = {"async-timeout", "pywin32", "whenever"}
"""Locked for other systems and newer Pythons: their markers exclude them here."""

DISTRIBUTIONS = packages_distributions()


def names_of(requirements: Iterable[str]) -> set[str]:
    """Return the names of the distributions in some requirements."""
    return {re.split(r"[<>=!~ \[;]", requirement)[0] for requirement in requirements}


def imported_by(folders: Iterable[str]) -> set[str]:
    """Return the distributions whose packages the Python files in some folders import."""
    packages, beside = set[str](), set[str]()
    for module in modules_of(*folders):
        beside.add(module.stem)  # a script imports those beside it
        for node in ast.walk(ast.parse(module.read_text())):
            match node:
                case ast.Import(names=names):
                    packages |= {alias.name.partition(".")[0] for alias in names}
                case ast.ImportFrom(module=str(name), level=0):
                    packages.add(name.partition(".")[0])
    foreign = packages - sys.stdlib_module_names - {*PACKAGES.values(), "proofsweep_configs", "tests", "benchmarks"}
    foreign -= beside - DISTRIBUTIONS.keys()
    return {
        DISTRIBUTIONS[package][0].lower().replace("_", "-") if package in DISTRIBUTIONS else package
        for package in foreign
    }


def test_what_is_imported_is_declared_and_the_reverse() -> None:
    """The wheel requires exactly what the code imports; what few users need is in an extra."""
    declared = names_of(PROJECT["dependencies"]) | names_of(chain(*EXTRAS.values()))

    assert imported_by(PACKAGES) - BROUGHT == declared - BOUNDS - IMPORTED_BY_OTHERS


def test_what_only_tests_and_benchmarks_import_is_declared_for_developers() -> None:
    """No import of a test depends on what another package happens to install."""
    declared = names_of(PROJECT["dependencies"]) | names_of(chain(*OPTIONAL.values()))

    assert imported_by(["tests", "benchmarks"]) - BROUGHT - declared == set()


def test_lock_holds_hashes_and_no_host() -> None:
    """The hashes fix what is installed; the lock does not say from where."""
    lock = (ROOT / "requirements.lock").read_text()
    pins = re.findall(r"^[a-z0-9-]+==.*", lock, flags=re.MULTILINE)

    assert "://" not in lock
    assert len(pins) > len(PROJECT["dependencies"])
    assert all(pin.endswith("\\") for pin in pins)


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


@pytest.mark.parametrize("extras", [[], list(EXTRAS)], ids=" ".join)
def test_the_image_gets_exactly_what_the_product_needs(extras: list[str]) -> None:
    """By the metadata of the installed packages: the core, and what each chosen extra brings."""
    asked = [*PROJECT["dependencies"], *chain(*(EXTRAS[extra] for extra in extras))]
    command = [sys.executable, ROOT / "deploy" / "locked.py", "product", *extras]

    entries = run(command, check=True, capture_output=True, text=True).stdout

    chosen = set(re.findall(r"^([a-z0-9._-]+)==", entries, re.MULTILINE))
    assert chosen - MARKERS == needed_by(asked) - MARKERS
