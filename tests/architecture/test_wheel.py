import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .packages import PACKAGES, ROOT


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel, and install it, without its dependencies, into a folder of its own."""
    folder, target = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("installed")
    run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)], cwd=ROOT)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target)]
    run([*command, *map(str, folder.iterdir())], cwd=target)
    return target


def run(command: list[str], *, cwd: Path, **variables: str) -> str:
    """Run a command in a folder, with more variables; give what it prints."""
    return subprocess.run(
        command, cwd=cwd, env=os.environ | variables, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def test_command_of_the_wheel_runs_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    """The wheel needs nothing of the source tree to run the tool."""
    output = run([str(installed / "bin" / "proofsweep"), "--help"], cwd=tmp_path, PYTHONPATH=str(installed))

    assert "verify" in output
    assert list(tmp_path.iterdir()) == []


def test_wheel_ships_the_profiles(installed: Path, tmp_path: Path) -> None:
    """The named profiles are found in any installation and from any folder."""
    profiles = ["sandbox", "beta", "production"]
    program = (
        "from proofsweep.config import load as settings\n"
        f"print(settings.__file__, *(settings.load_settings(each).service.environment for each in {profiles}))"
    )

    output = run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        PYTHONPATH=str(installed),
        PROOFSWEEP_SERVICE__BASE_URL="https://127.0.0.1/v1",
    )

    assert output.split() == [str(installed / "proofsweep" / "config" / "load.py"), *profiles]


def files_in(package: Path) -> dict[Path, bytes]:
    files = (path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(package): path.read_bytes() for path in files}


def test_the_wheel_has_the_files_of_the_checkout_and_no_other(installed: Path) -> None:
    """They are the same to the byte, and the name of each package begins with the project's.

    Another project may have `flows`, `tasks` and `configs` of its own in the same environment.
    """
    packages = {path.name for path in installed.iterdir() if path.suffix != ".dist-info"} - {"bin"}

    shipped = PACKAGES | {"configs": "proofsweep_configs"}
    assert packages == set(shipped.values())
    for folder, package in shipped.items():
        checkout = ROOT / folder if folder == package else ROOT / folder / package
        assert files_in(installed / package) == files_in(checkout)


def test_deployments_name_flows_of_the_wheel(installed: Path) -> None:
    """A worker has the wheel, and no checkout."""
    entrypoints = re.findall(r"^    entrypoint: (\S+)$", (ROOT / "prefect.yaml").read_text(), re.MULTILINE)

    assert entrypoints
    for entrypoint in entrypoints:
        module, _, flow = entrypoint.rpartition(".")
        source = (installed / module.replace(".", "/")).with_suffix(".py").read_text()
        assert f"def {flow}(" in source
