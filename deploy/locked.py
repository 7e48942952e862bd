# ruff: noqa: INP001 - a script, no package
"""Print what of requirements.lock is needed, hashes and all: `python deploy/locked.py product`, or `… build`.

The lock holds the developers' packages too. Under each package stands whom it is there for, and that leads from what
pyproject.toml names to everything below it.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = re.compile(r"^([a-z0-9._-]+)==[^\n]*(?:\n[ ]+[^\n]*)*", re.MULTILINE)
THERE_FOR = re.compile(r"#\s+(?:via )?([a-z0-9._-]+)$", re.MULTILINE)


def wanted(what: str) -> set[str]:
    """Give the packages that pyproject.toml asks for: of the `product`, or to `build` it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    asked = project["project"]["dependencies"] if what == "product" else project["build-system"]["requires"]
    return {re.split(r"[\[<>=!~; ]", requirement)[0].lower().replace("_", "-") for requirement in asked}


def locked(names: set[str], lock: str) -> str:
    """Give the entries of some packages and of everything that is there for them.

    A package may have an entry for each system or Python that wants another version of it.
    """
    entries = [(found[1], found[0]) for found in PACKAGE.finditer(lock)]
    if missing := names - {name for name, _ in entries}:
        raise SystemExit(f"requirements.lock lacks {', '.join(sorted(missing))}; make lock")
    there_for = [(name, set(THERE_FOR.findall(entry))) for name, entry in entries]
    while more := {name for name, whom in there_for if whom & names} - names:
        names = names | more
    return "".join(f"{entry}\n" for name, entry in entries if name in names)


if __name__ == "__main__":
    sys.stdout.write(locked(wanted(sys.argv[1]), (ROOT / "requirements.lock").read_text()))
