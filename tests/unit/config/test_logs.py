"""A log line is an event with facts, and HTTP libraries do not log URLs."""

import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from io import StringIO

import pytest
import structlog

from proofsweep.config.logs import LOGGER, LogEvent, json_lines, log, set_up_logs

HTTP_LIBRARIES = ("httpx", "httpcore")


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    levels = {name: logging.getLogger(name).level for name in (LOGGER, *HTTP_LIBRARIES)}
    set_up_logs()
    yield
    structlog.reset_defaults()
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def test_an_event_is_a_sentence_with_its_fields(caplog: pytest.LogCaptureFixture) -> None:
    """It is written to the standard logger, which the orchestrator reads. A fact may quote what the partner sent."""
    log(LogEvent.LEG_OPENED, run_id="1\n\x1b[2J\u202e", items=1000)

    (record,) = caplog.records
    assert (record.name, record.levelname) == (LOGGER, "INFO")
    assert record.getMessage() == "A leg of the run began. event='leg_opened' items=1000 run_id='1\\n\\x1b[2J\\u202e'"


def test_an_event_is_a_line_of_json_where_a_worker_writes_it() -> None:
    """With its own fields, each by its name; the root logger does not write it again."""
    stream = StringIO()
    with json_lines(stream):
        log(LogEvent.UPDATE_MISSED, value="1\n\x1b[2J\u202e", leg=2)
        logging.getLogger(LOGGER).warning("not an event")

    event, other = map(json.loads, stream.getvalue().splitlines())
    assert event.pop("time") <= other.pop("time") <= datetime.now(UTC).isoformat()
    sentence = LogEvent.UPDATE_MISSED.sentence
    assert event == {
        "level": "info",
        "event": "update_missed",
        "message": sentence,
        "value": "1\n\x1b[2J\u202e",
        "leg": 2,
    }
    assert other == {"level": "warning", "event": None, "message": "not an event"}
    assert stream.getvalue().isascii()
    assert logging.getLogger(LOGGER).propagate


@pytest.mark.parametrize("name", HTTP_LIBRARIES)
def test_http_libraries_do_not_log_urls(caplog: pytest.LogCaptureFixture, name: str) -> None:
    """One of them writes whole URLs at level INFO, and they contain proof IDs and slots."""
    logging.getLogger(name).info("HTTP Request: POST https://bucket/?sig=SECRET")

    assert "SECRET" not in caplog.text
