# ruff: noqa: INP001 - a script, no package
"""Print the needed entries of requirements.lock, with hashes: `python deploy/locked.py product [EXTRA …]`, or `build`.

The lock holds the developers' packages too. Each entry names the packages that need it. This script starts from the
packages that pyproject.toml names, and follows these names to all their dependencies.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = re.compile(r"^([a-z0-9._-]+)==[^\n]*(?:\n[ ]+[^\n]*)*", re.MULTILINE)
NEEDED_BY = re.compile(r"#\s+(?:via )?([a-z0-9._-]+)$", re.MULTILINE)


def wanted(what: str, extras: list[str]) -> set[str]:
    """Return the packages that pyproject.toml names: those of the `product` with extras, or those to `build` it."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, known = pyproject["project"], pyproject["project"]["optional-dependencies"]
    if unknown := set(extras) - known.keys():
        raise SystemExit(f"pyproject.toml has no extra {', '.join(sorted(unknown))}; it has {', '.join(sorted(known))}")
    requirements = project["dependencies"] if what == "product" else pyproject["build-system"]["requires"]
    requirements = [*requirements, *(each for extra in extras for each in known[extra])]
    return {re.split(r"[\[<>=!~; ]", requirement)[0].lower().replace("_", "-") for requirement in requirements}


def locked(names: set[str], lock: str) -> str:
    """Return the entries of some packages and of all their dependencies.

    A package may have several entries: one for each system or Python version that needs another release.
    """
    entries = [(found[1], found[0]) for found in PACKAGE.finditer(lock)]
    if missing := names - {name for name, _ in entries}:
        raise SystemExit(f"requirements.lock lacks {', '.join(sorted(missing))}; make lock")
    needed_by = [(name, set(NEEDED_BY.findall(entry))) for name, entry in entries]
    while more := {name for name, users in needed_by if users & names} - names:
        names = names | more
    return "".join(f"{entry}\n" for name, entry in entries if name in names)


if __name__ == "__main__":
    sys.stdout.write(locked(wanted(sys.argv[1], sys.argv[2:]), (ROOT / "requirements.lock").read_text()))
