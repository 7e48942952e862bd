"""`proofsweep check` starts fast, so it imports nothing slow."""

import subprocess
import sys

HEAVY = ("prefect", "pyarrow", "pandas", "duckdb", "obstore", "boto3", "sandbox")


def test_checking_one_file_loads_neither_prefect_nor_arrow() -> None:
    """The command line of `check` imports nothing that takes a second to import."""
    program = f"import sys, cli.app, cli.check_command; print([name for name in {HEAVY} if name in sys.modules])"

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert ended.stdout.strip() == "[]"
