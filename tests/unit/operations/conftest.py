"""A store, a scripted service, and what operations are given; a service in this process takes the calls."""

import pytest

from proofsweep.client.client import Partner
from proofsweep.config.sections import BoundsSettings
from proofsweep.operations.operation import OperationContext
from proofsweep.sources.files import Files
from proofsweep.store.operations import Operations
from proofsweep.store.parts import Results
from proofsweep.verify.service import ServiceStatus

from ..scripted_service import NOW


@pytest.fixture
def operations(results: Results) -> Operations:
    return Operations(results)


@pytest.fixture
def context(results: Results, partner: Partner) -> OperationContext:
    return OperationContext(
        results=results,
        environment="beta",
        bounds=BoundsSettings(),
        partner=partner,
        key_fingerprint=lambda: "0" * 12,
        unattributed=[],
        usable_service=lambda _reserve: ServiceStatus(),
        files=Files(),
        clock=lambda: NOW,
    )
