"""Structured log lines on the standard `proofsweep` logger; `Event` names every event."""

import logging
from enum import StrEnum

import structlog

LOGGER = "proofsweep"


class Event(StrEnum):
    """Every event that is logged, in the past tense. None holds a key, URL, proof ID or body."""

    SERVICE_AWAITED = "service_awaited"
    LEG_OPENED = "leg_opened"
    LEG_CLOSED = "leg_closed"
    LEG_TAKEN_OVER = "leg_taken_over"
    SHARD_PUBLISHED = "shard_published"
    LANE_LEARNED = "lane_learned"
    HEADER_IGNORED = "header_ignored"
    STOP_REQUESTED = "stop_requested"


def set_up_logs(level: int = logging.INFO) -> None:
    """Send our events to the standard logger, which Prefect reads; keep HTTP libraries from logging URLs."""
    logging.getLogger(LOGGER).setLevel(level)
    for chatty in ("httpx", "httpcore"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    structlog.configure(
        processors=[
            structlog.stdlib.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.KeyValueRenderer(key_order=["event"], sort_keys=True),
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def log(event: Event, **facts: str | float | None) -> None:
    """Write one event with its facts."""
    structlog.get_logger(LOGGER).info(str(event), **facts)
