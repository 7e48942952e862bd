import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from .packages import PACKAGES, ROOT

CONTRACTS = {
    contract["id"]: contract["name"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
}
BREAKS = [
    ("program", "proofsweep/store/objects.py", "import proofsweep_tasks"),
    ("program", "proofsweep/app.py", "import proofsweep_sandbox"),
    ("program", "sandbox/proofsweep_sandbox/wire.py", "import proofsweep"),
    ("program", "tasks/proofsweep_tasks/verify_partition.py", "import proofsweep_flows"),
    ("program", "flows/proofsweep_flows/verify_catalog.py", "import proofsweep_cli"),
    ("core", "proofsweep/client/client.py", "import proofsweep.store.objects"),
    ("core", "proofsweep/store/objects.py", "import proofsweep.verify"),
    ("pure", "proofsweep/domain/items.py", "import proofsweep.config.logs"),
    ("core", "proofsweep/domain/verdicts.py", "import proofsweep.config.logs"),
    ("core", "proofsweep/store/objects.py", "import proofsweep.sources.catalog"),
    ("core", "proofsweep/sources/source.py", "import proofsweep.store.objects"),
    ("core", "proofsweep/ingest/folder.py", "import proofsweep.audit.prune"),
    ("core", "proofsweep/client/client.py", "import proofsweep.sources.source"),
    ("circles", "proofsweep/verify/fault.py", "import proofsweep.verify.worker"),
    ("circles", "proofsweep/store/prunings.py", "import proofsweep.store.parts"),
    ("orchestrator", "proofsweep/verify/plan.py", "import prefect"),
    ("pure", "proofsweep/sources/preflight.py", "import pathlib"),
    ("pure", "proofsweep/verify/fault.py", "import time"),
    ("pure", "proofsweep/alerts/rules.py", "import os"),
    ("pure", "proofsweep/domain/headers.py", "import time"),
    ("pure", "proofsweep/domain/errors.py", "import structlog"),
    ("pacing", "proofsweep/client/pacer.py", "import time"),
    ("pacing", "proofsweep/client/call_queue.py", "import threading"),
    ("pacing", "proofsweep/client/call_queue.py", "import proofsweep.client.transport"),
    ("pacing", "proofsweep/client/scheduler.py", "import httpx"),
    ("pacing", "proofsweep/client/retry.py", "import random"),
    ("pure", "proofsweep/domain/items.py", "import pyarrow"),
    ("flows", "flows/proofsweep_flows/verify_catalog.py", "import httpx"),
    ("programs", "cli/proofsweep_cli/plan.py", "import proofsweep.client.session"),
    ("sandbox", "tasks/proofsweep_tasks/fan_out.py", "import proofsweep_sandbox"),
    ("settings", "proofsweep/verify/plan.py", "import proofsweep.config.load"),
]


def copied(tree: Path) -> Path:
    """Copy the code, which a test changes there."""
    shutil.copy(ROOT / "pyproject.toml", tree)
    for folder in (*PACKAGES, "configs"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tree


def lint(tree: Path) -> str:
    """Check a tree's contracts; give the linter's output with long lines."""
    folders = [tree / folder for folder in (*PACKAGES, "configs")]
    found = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"],
        cwd=tree,
        env=os.environ | {"COLUMNS": "200", "PYTHONPATH": os.pathsep.join(map(str, (tree, *folders)))},
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout


def broken(report: str) -> set[str]:
    """Return the IDs of the contracts that a report calls broken."""
    return {name for name, title in CONTRACTS.items() if f"{title} BROKEN" in report}


def test_code_as_it_stands_keeps_every_contract() -> None:
    """No module imports what the contracts forbid."""
    report = lint(ROOT)

    assert f"{len(CONTRACTS)} kept, 0 broken" in report


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the linter says of each contract, by its ID, where all forbidden imports are made at once."""
    tree = copied(tmp_path_factory.mktemp("tree"))
    for _, module, line in BREAKS:
        with (tree / module).open("a") as source:
            source.write(f"\n{line}\n")
    parts = re.split(r"^(.+)\n-{9,}\n", lint(tree).partition("Broken contracts")[2], flags=re.MULTILINE)
    told = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {name: told.get(title, "") for name, title in CONTRACTS.items()}


@pytest.mark.parametrize(("contract", "module", "line"), BREAKS)
def test_forbidden_import_breaks_its_contract(said: dict[str, str], contract: str, module: str, line: str) -> None:
    """Each contract can be broken, so that it checks something."""
    name = module[module.index("proofsweep") :].removesuffix(".py").replace("/", ".")
    circle = f"No cycles are allowed in {name.rpartition('.')[0]}."

    assert (circle if contract == "circles" else f" {name} -> {line.split()[1]} ") in said[contract]


def test_module_without_a_layer_breaks_the_core(tmp_path: Path) -> None:
    """A new module of the core must be in the contract's list of layers."""
    tree = copied(tmp_path)
    (tree / "proofsweep" / "helpers.py").touch()

    report = lint(tree)

    assert broken(report) == {"core"}
    assert "helpers" in report


def test_every_contract_is_broken_by_an_example() -> None:
    """A new contract needs an example that breaks it."""
    assert {contract for contract, _, _ in BREAKS} == set(CONTRACTS)
