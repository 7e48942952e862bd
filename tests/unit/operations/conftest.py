"""A store, a scripted service, and who begins operations with them; a service in this process takes the calls."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count

import pytest
from pydantic import SecretStr

from proofsweep.client.client import Partner
from proofsweep.config.proxies import Proxies
from proofsweep.config.sections import PaceSettings, RetrySettings, TimeoutSettings
from proofsweep.domain.runs import Bounds
from proofsweep.operations.operation import Operator
from proofsweep.store.parts import Results
from proofsweep.verify.service import Service, ServiceStatus

from ..scripted_service import NOW


def operator_with(
    results: Results, partner: Partner, clock: Callable[[], datetime], key: SecretStr | None = None
) -> Operator:
    context = partner.session.context
    made = Service(
        context.service,
        PaceSettings(),
        RetrySettings(),
        TimeoutSettings(),
        lambda: key or SecretStr("pk_test"),
        clock=clock,
        proxies=Proxies({}),
    )
    made.partner, made.stop, made.scheduler = partner, context.scheduler.stop, context.scheduler
    made.status = ServiceStatus  # type: ignore[method-assign]  # it was examined, and is well
    return Operator(results=results, service=made, bounds=Bounds())


@pytest.fixture
def operator(results: Results, partner: Partner) -> Operator:
    """A clock that goes on by a second whenever it is read, so that no two operations have one name."""
    context = partner.session.context
    of_beta = replace(context, service=context.service.model_copy(update={"environment": "beta"}))
    seconds = count()
    partner = replace(partner, session=replace(partner.session, context=of_beta))
    return operator_with(results, partner, lambda: NOW + timedelta(seconds=next(seconds)))
