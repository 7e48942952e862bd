import re
import subprocess
import sys
from pathlib import Path

CONFTEST = Path(__file__).parents[1] / "conftest.py"
TESTS = """
import os, subprocess, sys
import pytest

def test_ctrl_c():
    show = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert subprocess.check_output([sys.executable, "-c", show]) == b"True\\n"

def test_no_promise(monkeypatch):
    os.environ["PROOFSWEEP_CI"] = "0"
    pytest.skip("needs a browser")

def test_promise():
    os.environ["PROOFSWEEP_CI"] = "1"
    pytest.skip("needs a browser")

def test_other_reason():
    os.environ["PROOFSWEEP_CI"] = "1"
    pytest.skip("no such thing on this system")
"""


def test_rules_that_hold_for_every_test(tmp_path: Path) -> None:
    """A shell lets its background jobs ignore SIGINT; what tests start must hear it all the same.

    A machine without a part skips its tests; CI, which installs all parts, must not.
    """
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    (tmp_path / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-vv", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]

    ended = subprocess.run(
        ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert dict(re.findall(r"::(\w+) ([A-Z]+)", ended.stdout)) == {
        "test_ctrl_c": "PASSED",
        "test_no_promise": "SKIPPED",
        "test_promise": "FAILED",
        "test_other_reason": "SKIPPED",
    }
