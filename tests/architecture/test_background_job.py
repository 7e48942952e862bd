import subprocess
import sys
from pathlib import Path

CONFTEST = Path(__file__).parents[1] / "conftest.py"
TEST = """
import subprocess, sys

def test_it():
    show = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert subprocess.check_output([sys.executable, "-c", show]) == b"True\\n"
"""


def test_tests_can_send_ctrl_c_in_a_background_job(tmp_path: Path) -> None:
    """A shell lets its background jobs ignore SIGINT; what tests start must hear it all the same."""
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    (tmp_path / "test_it.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]

    ended = subprocess.run(
        ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "1 passed" in ended.stdout
