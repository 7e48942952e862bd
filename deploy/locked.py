# ruff: noqa: INP001 - a script, no package
"""Print the needed entries of requirements.lock, with hashes: `python deploy/locked.py product aws`.

Each argument is `product`, `build` or an extra of pyproject.toml.

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


def wanted(*names: str) -> set[str]:
    """Return the packages that pyproject.toml names: of the `product`, to `build` it, or of extras."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, extras = pyproject["project"], pyproject["project"]["optional-dependencies"]
    known = extras | {"product": project["dependencies"], "build": pyproject["build-system"]["requires"]}
    if unknown := set(names) - known.keys():
        raise SystemExit(
            f"pyproject.toml has no extra {', '.join(sorted(unknown))}; it has {', '.join(sorted(extras))}"
        )
    requirements = [each for name in names for each in known[name]]
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
    sys.stdout.write(locked(wanted(*sys.argv[1:]), (ROOT / "requirements.lock").read_text()))
