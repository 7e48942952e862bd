from dataclasses import fields
from pathlib import Path

import pytest

from sandbox.api.desk import CALLS as API_CALLS
from sandbox.backstage.app import ACTS
from sandbox.faults import Kind
from sandbox.options import Options
from sandbox.storage.desk import CALLS as STORAGE_CALLS

GUIDE = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text()
CALLS = [call.name for call in (*API_CALLS.known, *STORAGE_CALLS.known)]
OPTIONS = [f"--{field.name.replace('_', '-')}" for field in fields(Options)]
PATHS = sorted({path.replace("{proof_id}", "{proofId}") for _, path, _ in ACTS})


@pytest.mark.parametrize("word", [*CALLS, *Kind, *OPTIONS])
def test_the_guide_tells_of_every_call_fault_and_option(word: str) -> None:
    """What can be named in a rule or on the command line can be looked up."""
    assert f"`{word}`" in GUIDE


@pytest.mark.parametrize("path", PATHS)
def test_the_guide_tells_of_every_operators_path(path: str) -> None:
    """Nothing on the operator's port is a secret of the code."""
    assert f" {path}" in GUIDE
