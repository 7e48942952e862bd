"""What a flow run tells of its end."""

import logging
import os
from contextlib import suppress

import httpx
import pytest

from proofsweep.domain.errors import ConfigError


@pytest.mark.parametrize("error", [httpx.ConnectError("gone"), RuntimeError("Failed to reach API")])
def test_a_server_that_is_lost_is_no_mistake_of_what_is_shown(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """All is published by then."""
    from proofsweep_tasks import this_flow_run  # noqa: PLC0415 - Prefect reads its settings on import

    def lost(**_: object) -> None:
        raise error

    monkeypatch.setattr(this_flow_run, "create_markdown_artifact", lost)

    this_flow_run.show("proofsweep-summary", "# All is well")


def test_a_flow_run_whose_worker_was_killed_comes_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its log lines go into a pipe that nobody reads any more."""
    from prefect.logging.handlers import PrefectConsoleHandler  # noqa: PLC0415 - the same

    from proofsweep_tasks.this_flow_run import outlive_worker  # noqa: PLC0415 - Prefect reads its settings on import

    read_end, write_end = os.pipe()
    os.close(read_end)
    handler = PrefectConsoleHandler(stream=os.fdopen(write_end, "w", buffering=1), styles={})
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler])
    line = logging.LogRecord("prefect", logging.INFO, "here", 1, "Finished in state Completed()", None, None)

    outlive_worker()
    handler.emit(line)

    monkeypatch.undo()
    with suppress(BrokenPipeError):
        handler.stream.close()


@pytest.mark.parametrize(("variable", "ends"), [("PREFECT__FLOW_RUN_ID", [5.0]), ("SOMETHING", [])])
def test_a_process_of_a_worker_that_was_asked_to_stop_ends_soon(
    monkeypatch: pytest.MonkeyPatch, variable: str, ends: list[float]
) -> None:
    """Also while it works on a part of its flow run, of which no deployment knows; never a command of a person."""
    from proofsweep_tasks import stop_on_signals, this_flow_run  # noqa: PLC0415 - Prefect reads its settings on import

    timers: list[float] = []

    class Timer:
        daemon = False

        def __init__(self, seconds: float, *_: object) -> None:
            timers.append(seconds)

        def start(self) -> None:
            """Do nothing."""

    monkeypatch.setattr(this_flow_run.threading, "Timer", Timer)
    monkeypatch.setenv(variable, "7b0e0b5e-7a2c-4f0f-8f3a-0f2f6f1f2f3f")
    stop_on_signals.STOP_ASKED.set()
    try:
        this_flow_run.end_process_soon()
    finally:
        stop_on_signals.STOP_ASKED.clear()

    assert timers == ends


@pytest.mark.parametrize("url", [None, "http://127.0.0.1:1/api"])
def test_a_secret_block_needs_a_server_that_runs(url: str | None) -> None:
    """Where none is named, Prefect would start one for this alone."""
    from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings  # noqa: PLC0415

    from proofsweep_tasks.key_block import read_block  # noqa: PLC0415

    with (
        temporary_settings({PREFECT_API_URL: url, PREFECT_CLIENT_MAX_RETRIES: 0}),
        pytest.raises(ConfigError, match="set PREFECT_API_URL"),
    ):
        read_block("partner-key")
