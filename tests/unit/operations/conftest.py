"""A store, a scripted service, and who begins operations with them; a service in this process takes the calls."""

from datetime import timedelta
from itertools import count

import pytest
from pydantic import SecretStr

from proofsweep.client.client import Partner
from proofsweep.client.stop import StopSwitch
from proofsweep.config.proxies import Proxies
from proofsweep.config.sections import PaceSettings, RetrySettings, TimeoutSettings
from proofsweep.domain.runs import Bounds
from proofsweep.operations.operation import Operator
from proofsweep.store.parts import Results
from proofsweep.verify.service import Service, ServiceStatus

from ..scripted_service import NOW


@pytest.fixture
def operator(results: Results, partner: Partner, stop: StopSwitch) -> Operator:
    """A clock that goes on by a second whenever it is read, so that no two operations have one name."""
    settings, seconds = partner.session.context.service.model_copy(update={"environment": "beta"}), count()
    made = Service(
        settings,
        PaceSettings(),
        RetrySettings(),
        TimeoutSettings(),
        lambda: SecretStr("pk_test"),
        clock=lambda: NOW + timedelta(seconds=next(seconds)),
        proxies=Proxies({}),
    )
    made.partner, made.stop, made.dispatcher = partner, stop, partner.session.context.dispatcher
    made.status = ServiceStatus  # type: ignore[method-assign]  # it was examined, and is well
    return Operator(results=results, service=made, bounds=Bounds())
