import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"


@pytest.mark.parametrize(
    ("promised", "reason", "outcome"),
    [
        ("0", "needs a browser", "1 skipped"),
        ("1", "needs a browser", "1 failed"),
        ("1", "no such thing on this system", "1 skipped"),
    ],
)
def test_skip_for_a_missing_part_fails_where_parts_are_promised(
    tmp_path: Path, promised: str, reason: str, outcome: str
) -> None:
    """A machine without a part skips its tests; CI, which installs all parts, must not."""
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    (tmp_path / "test_it.py").write_text(f"import pytest\n\ndef test_it():\n    pytest.skip({reason!r})\n")

    output = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path],
        cwd=tmp_path,
        env=os.environ | {"PROOFSWEEP_CI": promised},
        capture_output=True,
        text=True,
        check=False,
    ).stdout

    assert outcome in output
