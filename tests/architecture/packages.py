"""The packages of this checkout, by the folder at its top that holds each."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = {"cli": "proofsweep_cli", "flows": "proofsweep_flows", "tasks": "proofsweep_tasks", "proofsweep": "proofsweep"}
PACKAGES = CORE | {"sandbox": "proofsweep_sandbox"}
"""All that have code."""


def modules_of(*folders: str) -> list[Path]:
    """Return the Python files below some folders of this checkout."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
