import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and install it, without its dependencies, into a folder of its own."""
    wheels, target = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("installed")
    run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(wheels)], cwd=ROOT)
    (wheel,) = wheels.glob("*.whl")
    run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), str(wheel)],
        cwd=wheels,
    )
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


@pytest.mark.parametrize("profile", ["sandbox", "beta", "production"])
def test_wheel_ships_the_profile(installed: Path, tmp_path: Path, profile: str) -> None:
    """The named profiles are found in any installation and from any folder."""
    program = (
        "from proofsweep import settings\n"
        f"print(settings.__file__, settings.load_settings({profile!r}).service.environment)"
    )

    output = run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        PYTHONPATH=str(installed),
        PROOFSWEEP_SERVICE__BASE_URL="https://127.0.0.1/v1",
    )

    assert output.split() == [str(installed / "proofsweep" / "settings" / "__init__.py"), profile]
