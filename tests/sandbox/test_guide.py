from dataclasses import fields
from pathlib import Path

import pytest

from proofsweep_sandbox.api.gateway import ENDPOINTS as API_ENDPOINTS
from proofsweep_sandbox.faults import FaultKind
from proofsweep_sandbox.operator_api import ROUTES
from proofsweep_sandbox.options import Options
from proofsweep_sandbox.storage import ENDPOINTS as STORAGE_ENDPOINTS

GUIDE = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text()
CALLS = [endpoint.name for endpoint in (*API_ENDPOINTS, *STORAGE_ENDPOINTS)]
OPTIONS = [f"--{field.name.replace('_', '-')}" for field in fields(Options)]
PATHS = sorted({path.replace("{proof_id}", "{proofId}") for _, path, _ in ROUTES})


@pytest.mark.parametrize("word", [*CALLS, *FaultKind, *OPTIONS])
def test_the_guide_tells_of_every_call_fault_and_option(word: str) -> None:
    """Every name that a user can type is in the guide."""
    assert f"`{word}`" in GUIDE


@pytest.mark.parametrize("path", PATHS)
def test_the_guide_tells_of_every_operators_path(path: str) -> None:
    """The guide lists every path of the operator API."""
    assert f" {path}" in GUIDE
