"""A call is repeated until it is answered: what is repeated, what is final, and what ends the run."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING

import pytest

from proofsweep.client.call_queue import FAILURES_IN_A_ROW
from proofsweep.client.session import FirstContact
from proofsweep.domain.errors import CallFailed, RunMustStop, SlotSpent
from proofsweep.domain.exchanges import Call
from proofsweep.domain.models import UploadResponse

from ..left_behind import exchange

if TYPE_CHECKING:
    from .conftest import Bytes, Client, NewClient, ScriptedServer, Write

SLOT = b'{"uploadId": "u-2", "url": "http://127.0.0.1:1/", "fields": {}}'


@pytest.mark.parametrize("failure", [500, 502, 503, 599, None])
def test_an_outage_that_passes_leaves_no_trace_but_its_exchanges(
    api: ScriptedServer, client: Client, answer: Write, failure: int | None
) -> None:
    """A 5xx or a lost connection is repeated, and each attempt is recorded with its number and request ID."""
    broken = b"" if failure is None else answer(failure, b"", x_request_id="rid-0")
    api.script = [broken, broken, answer(body=SLOT, x_request_id="rid-2")]

    slot = client.partner.request_slot()

    assert slot.upload_id == "u-2"
    assert [exchange.attempt for exchange in client.exchanges] == [1, 2, 3]
    assert [exchange.status for exchange in client.exchanges] == [failure, failure, 200]
    assert client.exchanges[-1].request_id == "rid-2"


def test_an_outage_that_stays_fails_the_call(api: ScriptedServer, client: Client, answer: Write) -> None:
    """The error has what support asks for, and no secret."""
    api.script = [answer(500, b'{"error": "SECRET", "code": "internal"}', x_request_id=f"rid-{n}") for n in range(3)]

    with pytest.raises(CallFailed) as failed:
        client.partner.request_slot()

    error = failed.value
    assert (error.stage, error.reason, error.status, error.code) == ("uploads", "http_500", 500, "internal")
    assert error.request_id == "rid-2"
    assert "SECRET" not in f"{error!r}{error}"
    assert len(api.received) == 3


def test_an_expired_slot_does_not_use_up_the_fresh_upload(
    api: ScriptedServer, storage: ScriptedServer, client: Client, answer: Write, slot: UploadResponse, *, audio: Bytes
) -> None:
    """Each of the two has its own remedy."""
    storage.script, api.script = [answer(403, b"")], [answer(404)]

    with pytest.raises(SlotSpent):
        client.partner.fill_slot(slot, audio)
    with pytest.raises(SlotSpent):
        client.partner.verify(slot, None)

    assert client.facts() == [("slot", 403, None), ("verify", 404, None)]


def with_many_failures(client: Client, call: Call = Call.UPLOADS) -> Client:
    """Let a call fail for so many items that one more is doubtful."""
    for _ in range(FAILURES_IN_A_ROW):
        client.dispatcher.note(exchange(call, 500))
    return client


def test_a_control_spends_few_tries_and_asks_for_none_itself(
    api: ScriptedServer, new_client: NewClient, answer: Write
) -> None:
    """Two, whatever the policy of items is, and also while only controls go."""
    client = with_many_failures(new_client(attempts=9))
    client.dispatcher.hold(is_held=True)
    with_many_failures(client)
    asked: list[bool] = []
    api.script = [answer(500)] * 9

    with pytest.raises(CallFailed):
        client.partner.with_control(lambda: bool(asked.append(True))).for_control().request_slot()

    assert len(api.received) == 2
    assert asked == []


@pytest.mark.parametrize("at_once", [1, 6])
def test_the_headroom_is_asked_for_in_an_outage_too(
    api: ScriptedServer, client: Client, answer: Write, slot: UploadResponse, *, at_once: int
) -> None:
    """Only controls go then, and one that meets a used-up quota must learn of it; one call serves all that wait."""
    throttled = answer(429, retry_after="1", x_ratelimit_remaining="0")
    api.before_answering = lambda request: api.script.append(
        answer(x_ratelimit_remaining="0") if "usage" in request.target else throttled
    )
    client.dispatcher.hold(is_held=True)
    ended: list[str] = []

    def verify() -> None:
        try:
            client.partner.for_control().verify(slot, None)
        except RunMustStop as stopped:
            ended.append(stopped.ended_by)

    threads = [threading.Thread(target=verify, daemon=True) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10.0 / at_once)
    client.stop.pull(RunMustStop("The test is over.", ended_by="cancelled"))
    for thread in threads:
        thread.join(10.0)

    assert ended == ["quota"] * at_once
    assert sum("usage" in target for target in api.targets()) == 1


@pytest.mark.parametrize(("is_reached", "tries"), [(False, 1), (True, 3)])
def test_a_service_that_was_never_reached_is_tried_for_a_short_time_only(
    new_client: NewClient, monkeypatch: pytest.MonkeyPatch, *, is_reached: bool, tries: int
) -> None:
    """Whatever the policy for outages: its address may be wrong."""
    client = new_client(base_url="http://127.0.0.1:1/v1")
    monkeypatch.setattr("proofsweep.client.session.FIRST_CONTACT_SECONDS", 0.0)
    if is_reached:
        client.partner.session.context.contact.reached.set()

    with pytest.raises(CallFailed, match="the connection was refused"):
        client.partner.health()

    assert client.facts() == [("health", None, "connection")] * tries


def test_that_nothing_is_reached_is_told_once_and_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """And never, where the first call has reached the service."""
    monkeypatch.setattr("proofsweep.client.session._SILENT_SECONDS", 0.05)
    told: dict[str, threading.Event] = {"silent": threading.Event(), "reached": threading.Event()}
    silent, reached = (FirstContact(threading.Event(), event.set) for event in told.values())

    for contact in (silent, reached, silent):
        contact.begin()
    reached.reached.set()

    assert told["silent"].wait(10.0)
    assert not told["reached"].wait(0.2)
    assert (silent.left_seconds < 30.0, reached.left_seconds) == (True, math.inf)
