"""The wheel in fresh environments, by several installers and Pythons.

Each takes a minute and needs a package index, so they are named: `PROOFSWEEP_SOAK_INSTALLERS="pip==23.2.1 uv"`. The
Pythons are all of 3.11 to 3.14 that are on PATH and start. Without that, only our metadata is looked at.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from .native_compose import ROOT

INSTALLERS = os.environ.get("PROOFSWEEP_SOAK_INSTALLERS", "").split()
WORDS = ("--version", "--help")


def starts(python: str) -> bool:
    """Return whether a Python is there; some managers of versions put names on PATH that lead nowhere."""
    return subprocess.run([python, "-c", ""], check=False, capture_output=True).returncode == 0


ON_PATH = filter(None, (shutil.which(f"python3.{minor}") for minor in range(11, 15)))
PYTHONS = [sys.executable, *filter(starts, ON_PATH if INSTALLERS else [])]


def requirements(distribution: str) -> Iterator[Requirement]:
    """Yield what a distribution needs here, without its extras."""
    for requirement in map(Requirement, requires(distribution) or []):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield requirement


def test_what_we_bound_has_the_extras_that_prefect_asks_for() -> None:
    """Else pip of 2023 downloads each release of the extra that our bound excludes, or gives up."""
    asked = {each.name: each.extras for each in requirements("prefect")}
    above = [each for each in requirements("proofsweep") if any("<" in bound.operator for bound in each.specifier)]

    lacking = [each.name for each in above if asked.get(each.name, set()) - each.extras]

    assert {"sqlalchemy", "fastapi"} <= {each.name for each in above}
    assert lacking == ["httpx"]  # no release is above its bound


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(folder.iterdir())


def install(python: str, installer: str, wheel: Path, folder: Path) -> None:
    """Make an environment and install the wheel into it."""
    subprocess.run([python, "-m", "venv", folder], check=True)
    if installer == "uv":
        command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", folder / "bin" / "python"]
    else:
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", installer], check=True)
        command = [folder / "bin" / "pip", "install", "--quiet", "--no-compile"]
    subprocess.run([*command, wheel], check=True, timeout=600)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("installer", INSTALLERS or ["none"])
def test_the_wheel_installs_and_starts(python: str, installer: str, wheel: Path, tmp_path: Path) -> None:
    """All that it needs is found, and the command answers with its version and its list of commands."""
    if not INSTALLERS:
        pytest.skip("no installer is named by PROOFSWEEP_SOAK_INSTALLERS: each takes a minute and a package index")
    install(python, installer, wheel, tmp_path / "venv")

    program = tmp_path / "venv" / "bin" / "proofsweep"
    answers = [subprocess.run([program, word], check=True, capture_output=True, text=True).stdout for word in WORDS]

    assert answers[0].startswith("proofsweep ")
    assert "verify" in answers[1]
