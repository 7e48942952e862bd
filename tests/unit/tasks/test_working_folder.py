"""The working folder holds data of others: Python finds no module there. Prefect's data is in Prefect's home."""

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

BEGUN = "from proofsweep_tasks.working_folder import distrust_working_folder; distrust_working_folder()"


@pytest.mark.parametrize("python_path", ["", "{0}:", ":{0}", "{0}:.", "{0}:lib", "{0}"])
def test_no_module_of_the_working_folder_is_found(tmp_path: Path, python_path: str) -> None:
    """Neither by the process, which `python -c` starts there, nor by a Python that it starts."""
    (tmp_path / "lib").mkdir()
    for folder in (tmp_path, tmp_path / "lib"):
        (folder / "planted.py").write_text("print('run')")
    ours = os.pathsep.join(path for path in sys.path if path)
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import planted'])"
    program = f"{BEGUN}\n{child}\nimport planted"
    environment = os.environ | {"PYTHONPATH": python_path.format(ours)}

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("No module named 'planted'") == 2


def test_paths_of_the_environment_are_seen_from_the_working_folder(tmp_path: Path) -> None:
    """Processes of ours have folders of their own, and must find the same."""
    environment = os.environ | {"PREFECT_HOME": "home", "SSL_CERT_FILE": "../authority.pem", "TMPDIR": "~"}
    shown = "import os; print(*(os.environ[name] for name in ('PREFECT_HOME', 'SSL_CERT_FILE', 'TMPDIR')), sep='\\n')"

    done = subprocess.run(
        [sys.executable, "-c", f"{BEGUN}\n{shown}"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.splitlines() == [f"{tmp_path}/home", f"{tmp_path}/../authority.pem", str(Path.home())]


def test_prefects_home_is_the_home_of_a_user_without_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefect asks for the user's home when it is imported, also where PREFECT_HOME is set."""
    from proofsweep_tasks.prefect_home import prefect_home  # noqa: PLC0415 - no test loads tasks while it is collected

    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)

    assert prefect_home() == Path.home() == tmp_path
