"""`proofsweep check` answers within moments, so it loads nothing that takes long."""

import subprocess
import sys

HEAVY = ("prefect", "pyarrow", "pandas", "duckdb", "obstore", "boto3", "sandbox")


def test_checking_one_file_loads_neither_prefect_nor_arrow() -> None:
    """What takes a second to import is not imported for the command line of `check`."""
    program = f"import sys, cli.app, cli.check_command; print([name for name in {HEAVY} if name in sys.modules])"

    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert told.stdout.strip() == "[]"
