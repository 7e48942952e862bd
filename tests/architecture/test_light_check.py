"""Commands that answer in a moment import nothing slow."""

import subprocess
import sys

import pytest

HEAVY = ("prefect", "pyarrow", "pandas", "duckdb", "obstore", "boto3", "proofsweep_sandbox")
SERVICE = ("prefect", "pandas", "duckdb", "obstore", "boto3", "proofsweep_sandbox", "httpx", "structlog")


CORE = "import proofsweep.app"


@pytest.mark.parametrize(
    ("arguments", "then", "unwanted"),
    [
        pytest.param(["check"], CORE, HEAVY, id="checking one file loads neither Prefect nor Arrow"),
        pytest.param(["status"], CORE, SERVICE, id="reading a store loads nothing that speaks to a service"),
        pytest.param(["--help"], "", (*HEAVY, *SERVICE, "pydantic"), id="the list of commands loads no command"),
        pytest.param(["verify"], CORE, HEAVY, id="a run imports what is heavy while Prefect's server starts"),
        pytest.param(
            ["verify"],
            "import proofsweep_cli.runs_in_turn",
            ("duckdb", "cryptography", "jinja2", "obstore", "openpyxl"),
            id="a run loads no reports, no audits",
        ),
        pytest.param(
            ["verify"], "import proofsweep_flows.verify_catalog", ("duckdb", "pandas"), id="a flow loads no DuckDB"
        ),
        pytest.param(["audit"], CORE, ("prefect", "pandas", "boto3"), id="an audit loads no cloud"),
    ],
)
def test_a_command_imports_nothing_that_it_does_not_need(
    arguments: list[str], then: str, unwanted: tuple[str, ...]
) -> None:
    """Importing takes most of the time of a command that reads little."""
    loaded = f"sorted({{*{unwanted}}} & {{*sys.modules}})"
    program = f"import sys, proofsweep_cli.app as cli; cli.app_for({arguments}); {then}\nprint({loaded})"

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert ended.stdout.strip() == "[]"
