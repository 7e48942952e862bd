from dataclasses import fields
from pathlib import Path

from proofsweep_sandbox.api.gateway import ENDPOINTS as API_ENDPOINTS
from proofsweep_sandbox.faults import FaultKind
from proofsweep_sandbox.operator_api import ROUTES
from proofsweep_sandbox.options import Options
from proofsweep_sandbox.storage import ENDPOINTS as STORAGE_ENDPOINTS

GUIDE = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text()
CALLS = [endpoint.name for endpoint in (*API_ENDPOINTS, *STORAGE_ENDPOINTS)]
OPTIONS = [f"--{field.name.replace('_', '-')}" for field in fields(Options)]
PATHS = sorted({path.replace("{proof_id}", "{proofId}") for _, path, _ in ROUTES})


def test_the_guide_tells_of_all_that_a_user_can_type() -> None:
    """Each call, fault and option, and each path of the operator API."""
    words = [f"`{word}`" for word in (*CALLS, *FaultKind, *OPTIONS)] + [f" {path}" for path in PATHS]

    assert [word for word in words if word not in GUIDE] == []
