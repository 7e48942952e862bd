"""What the process that holds a leg and its worker processes tell each other through the results store. Pure."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime

from proofsweep.domain.runs import Claim
from proofsweep.errors import RunMustStop

Document = Mapping[str, object]

EXCHANGE_SECONDS = 2.0
"""Time between two reports and between two orders. Chosen: a stop arrives within four seconds; half doubles the
requests to a bucket, and at twice a request to stop costs eight seconds of calls."""

GRANT_SECONDS = 20.0
"""How long an order lets a worker process begin items. It must be shorter than the time after which another process
takes the leg over (30 s); half stops the work when the store is slow, twice would verify rows twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReport:
    """What a worker process says of its part in a leg; a new one is a sign of life. Counts grow from its begin.

    Attributes:
        process: which process it is.
        number: of this report.
        rows: finished rows by outcome word.
        audio_bytes: of the files that the service answered.
        calls: keyed calls that were made.
        returned: calls that were granted and will not be made.
        is_busy: a task is being worked on.
        is_waiting: an item waits for calls to be granted.
        rate, most_at_once, is_outage: what is known of the lane, as in `LaneStatus`.
        stop: why this process ended the leg; None if it did not.
        is_closed: all that it did is written down, and it does nothing more.
    """

    process: Claim
    number: int = 0
    rows: Mapping[str, int] = field(default_factory=dict)
    audio_bytes: int = 0
    cpu_seconds: float = 0.0
    calls: int = 0
    returned: int = 0
    is_busy: bool = False
    is_waiting: bool = False
    rate: float | None = None
    most_at_once: int | None = None
    is_outage: bool = False
    stop: RunMustStop | None = None
    is_closed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What the process that holds a leg tells its worker processes; a new one is a sign of life.

    Attributes:
        number: of these orders.
        granted: calls that each worker process may make in all, by its name; None for any number.
        stop: why the leg ends; items in flight are finished.
        is_aborted: items in flight are abandoned too.
        is_over: a worker process writes everything down and closes.
    """

    number: int = 0
    granted: Mapping[str, int | None] = field(default_factory=dict)
    stop: RunMustStop | None = None
    is_aborted: bool = False
    is_over: bool = False


def document_of(message: WorkerReport | Orders) -> dict[str, object]:
    """Give a message as a JSON document."""
    document = {each.name: getattr(message, each.name) for each in fields(message)}
    if isinstance(message, WorkerReport):
        document["process"] = asdict(message.process)
    if message.stop is not None:
        reset = message.stop.quota_reset
        document["stop"] = {
            "message": message.stop.message,
            "ended_by": message.stop.ended_by,
            "quota_reset": None if reset is None else reset.isoformat(),
        }
    return document


def report_of(document: Document) -> WorkerReport:
    """Read a report.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: it is none.
    """
    process = Claim(**document["process"])  # type: ignore[arg-type]  # a wrong member raises TypeError
    return WorkerReport(**dict(document) | {"process": process, "stop": _stop_of(document)})  # type: ignore[arg-type]


def orders_of(document: Document) -> Orders:
    """Read orders.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: they are none.
    """
    return Orders(**dict(document) | {"stop": _stop_of(document)})  # type: ignore[arg-type]  # as above


def _stop_of(document: Document) -> RunMustStop | None:
    stop = document["stop"]
    if not isinstance(stop, Mapping):
        return None
    reset = stop["quota_reset"]
    return RunMustStop(
        str(stop["message"]),
        ended_by=str(stop["ended_by"]),
        quota_reset=None if reset is None else datetime.fromisoformat(reset),
    )
