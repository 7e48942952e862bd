"""Tell somebody from within a flow: through the settings' receivers, and as events that Prefect's automations match."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prefect.events import emit_event
from prefect.runtime import deployment, flow_run

from proofsweep.bootstrap.alerts import Occasion, complaints_of
from proofsweep.domain.alerts.messages import Alert
from proofsweep.errors import RunMustStop
from proofsweep.logs import Event, log
from proofsweep.printable import printable
from proofsweep.usecases.alerts.teller import Channel
from tasks.key_block import read_block


class PrefectEvents:
    """Emits each alert as an event; the automations of deploy/alert_automations.py send it on."""

    def __len__(self) -> int:
        """Count the server as one."""
        return 1

    def send(self, alert: Alert) -> list[str]:
        """Emit an alert; whether an automation takes it is not known here."""
        run = f"prefect.flow-run.{flow_run.get_id()}"
        emit_event(
            event=f"proofsweep.alert.{alert.kind}",
            resource={"prefect.resource.id": f"proofsweep.alert.{flow_run.get_id()}.{alert.kind}"},
            related=[{"prefect.resource.id": run, "prefect.resource.role": "flow-run"}],
            payload={"subject": alert.subject, "body": alert.body},
        )
        return []


def channels() -> list[Channel]:
    """Give what a deployment has beside the settings' receivers: its server. A command's run has nothing."""
    return [PrefectEvents()] if deployment.id else []


def tell_alerts(occasion: Occasion | None) -> None:
    """Tell what must be told, each cause once. If that fails, one line says so."""
    for line in [] if occasion is None else complaints_of(occasion, read_block, channels()):
        log(Event.ALERT_MISSED, why=line)
        sys.stderr.write(f"proofsweep: {printable(line)}\n")


@contextmanager
def stop_told(occasion_of: Callable[[RunMustStop], Occasion]) -> Iterator[None]:
    """Tell of what stops the work inside before a leg could begin."""
    try:
        yield
    except RunMustStop as stop:
        tell_alerts(occasion_of(stop))
        raise
