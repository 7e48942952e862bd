"""Structured log lines on the standard `proofsweep` logger; `LogEvent` names every event."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from typing import Self, TextIO

import structlog
from structlog.typing import EventDict, WrappedLogger

LOGGER = "proofsweep"


class LogEvent(StrEnum):
    """What happened, with a sentence for a person who reads the log; its fields follow."""

    sentence: str

    def __new__(cls, word: str, sentence: str = "") -> Self:
        event = str.__new__(cls, word)
        event._value_ = word
        event.sentence = sentence
        return event

    SERVICE_AWAITED = "service_awaited", "The service does not answer yet; it is waited for."
    LEG_OPENED = "leg_opened", "A leg of the run began."
    LEG_CLOSED = "leg_closed", "The leg ended; its rows are published."
    LEG_TAKEN_OVER = "leg_taken_over", "The last leg was killed; its finished rows are published."
    CLOCK_DIFFERS = (
        "clock_differs",
        "This machine's clock is not the service's; times are told and kept by the service's.",
    )
    DATE_IGNORED = "date_ignored", "The Date of an answer is far from that of the others, and counts for nothing."
    WORKERS_LOWERED = "workers_lowered", "Few files can be open (ulimit -n), so fewer workers work than are set."
    CHECK_ENDED = "check_ended", "Something whose answer is known was checked, to see whose fault an outcome is."
    UPDATE_MISSED = "update_missed", "Not all was updated that is kept beside the results; the next leg does it."
    STOP_REQUESTED = "stop_requested", "A stop was requested; files in flight are finished."
    ALERT_MISSED = "alert_missed", "An alert was not sent; the run goes on."


def set_up_logs() -> None:
    ours = logging.getLogger(LOGGER)
    ours.setLevel(logging.INFO)
    if not ours.handlers:
        ours.addHandler(logging.NullHandler())  # else a warning goes to the terminal
    for chatty in ("httpx", "httpcore"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


set_up_logs()  # whoever imports this may log: nobody can forget it, so no event is ever printed as it is

_fields = structlog.processors.KeyValueRenderer(key_order=["event"], sort_keys=True)


def _as_record(logger: WrappedLogger, method: str, facts: EventDict) -> EventDict:
    """Write a sentence with its fields, for a person; a handler that wants the fields finds them as `facts`."""
    written = _fields(logger, method, dict(facts))  # it empties what it is given
    sentence = LogEvent(facts["event"]).sentence
    return {"msg": f"{sentence} {written}", "extra": {"facts": facts}}


class JsonLines(logging.Formatter):
    """Writes each event as one JSON object on a line: time, level, event, its sentence, and its fields."""

    def format(self, record: logging.LogRecord) -> str:
        facts = getattr(record, "facts", {})
        event = facts.get("event")
        time = datetime.fromtimestamp(record.created, UTC)
        message = record.getMessage() if event is None else LogEvent(event).sentence
        members = {
            "time": time.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": event,
            "message": message,
        }
        return json.dumps(members | facts, default=str)


_logger = structlog.wrap_logger(
    logging.getLogger(LOGGER),
    processors=[_as_record],  # without level and time: the standard logger adds them
    wrapper_class=structlog.stdlib.BoundLogger,
)


@contextmanager
def json_lines(stream: TextIO) -> Iterator[None]:
    """Write events to a stream as JSON lines, in the place of what the root logger makes of them."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger(LOGGER)
    logger.addHandler(handler)
    before = logger.propagate
    logger.propagate = False
    try:
        yield
    finally:
        logger.propagate = before
        logger.removeHandler(handler)


def log(event: LogEvent, **facts: str | float | None) -> None:
    _logger.info(str(event), **facts)
