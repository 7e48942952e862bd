"""A call is repeated until it is answered: what is repeated, what is final, and what ends the run."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from proofsweep.client.call_queue import FAILURES_IN_A_ROW
from proofsweep.domain.errors import CallFailed, RunMustStop, SlotSpent
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.headers import AnswerHeaders
from proofsweep.domain.models import UploadResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Bytes, Client, NewClient, Received, ScriptedServer, Write

SLOT = b'{"uploadId": "u-2", "url": "http://127.0.0.1:1/", "fields": {}}'
VALID = b'{"good": true, "verdict": "valid"}'


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


def test_a_throttled_call_waits_and_goes_on(api: ScriptedServer, client: Client, answer: Write) -> None:
    """However often; a 429 is a wait and no failure, and each one is recorded."""
    throttled = answer(429, b'{"error": "Slow.", "code": "rate_limited"}', retry_after="0.001")
    api.script = [*[throttled] * 7, answer(body=SLOT)]

    client.partner.request_slot()

    assert [exchange.status for exchange in client.exchanges] == [429] * 7 + [200]
    assert {exchange.error_code for exchange in client.exchanges} == {"rate_limited", None}
    assert client.stop.reason is None


def test_a_very_long_wait_stops_the_run(api: ScriptedServer, client: Client, answer: Write) -> None:
    """A service that asks for an hour is asked for the headroom once."""
    api.script = [answer(429, retry_after="3600"), answer(x_ratelimit_remaining="500")]

    with pytest.raises(RunMustStop) as stopped:
        client.partner.request_slot()

    assert stopped.value.ended_by == "breaker"
    assert api.targets() == ["POST /v1/uploads?purpose=verify", "GET /v1/partner/usage?days=1"]
    assert [str(exchange.call) for exchange in client.unattributed] == ["usage"]


def test_a_refused_usage_call_shows_the_quota_itself(api: ScriptedServer, client: Client, answer: Write) -> None:
    """It carries the key too, so no second usage call is made."""
    api.script = [answer(429, retry_after="1", x_ratelimit_remaining="0")] * 2

    with pytest.raises(RunMustStop) as stopped:
        client.partner.usage(days=1)

    assert stopped.value.ended_by == "quota"
    assert len(api.received) == 1


@pytest.mark.parametrize("wait", ["30", "3600"])
def test_a_throttled_usage_call_holds_no_other_call_back(
    api: ScriptedServer, client: Client, answer: Write, wait: str
) -> None:
    """It may have a lane of its own. A wait that is too long for an asker leaves the quota unknown."""
    api.script = [answer(429, retry_after=wait), answer(body=SLOT)]
    began = time.monotonic()

    with pytest.raises(CallFailed) as failed:
        client.partner.usage(days=1)
    client.partner.request_slot()

    assert failed.value.reason == "http_429"
    assert time.monotonic() - began < 10.0
    assert client.stop.reason is None


@pytest.mark.parametrize("statuses", [(429, 500, 429), (429, 429, 429)])
def test_usage_calls_that_are_throttled_for_long_end_no_leg(
    api: ScriptedServer, client: Client, answer: Write, statuses: tuple[int, ...]
) -> None:
    """Five minutes lie between them; they show nothing about the calls that the files need."""
    began, ahead_seconds = time.monotonic(), 0.0
    client.dispatcher.clock = lambda: time.monotonic() + ahead_seconds
    for status in statuses:
        api.script = [answer(status, retry_after="1")]
        with pytest.raises(CallFailed):
            client.partner.with_attempts(1).usage(days=1)
        ahead_seconds += 300.0

    assert client.stop.reason is None
    assert time.monotonic() - began < 10.0


def test_a_zero_that_the_headroom_contradicts_is_an_ordinary_429(
    api: ScriptedServer, client: Client, answer: Write
) -> None:
    """The header of other calls may be old (contract, Limits)."""
    throttled = answer(429, retry_after="0.001", x_ratelimit_remaining="0")
    api.script = [throttled, answer(x_ratelimit_remaining="9"), answer(body=SLOT)]

    client.partner.request_slot()

    assert client.stop.reason is None


def test_a_missing_key_file_stops_the_run_as_a_refused_key(
    api: ScriptedServer, client: Client, answer: Write, key_path: Path
) -> None:
    """There is no other key to try."""
    api.script = [answer(403)]
    key_path.unlink()

    with pytest.raises(RunMustStop) as stopped:
        client.partner.request_slot()

    assert stopped.value.ended_by == "key_refused"


def test_threads_refused_together_go_on_together(
    api: ScriptedServer, new_client: NewClient, answer: Write, key_path: Path
) -> None:
    """The second thread finds the key that the first one renewed, and does not treat it as refused."""
    first = new_client()
    both_sent, both_refused = threading.Barrier(2), threading.Event()

    def hold(request: Received) -> None:
        """Answer the refused key when both have sent it, and the new one when both were refused."""
        if "SECRET" in request.headers["x-api-key"]:
            both_sent.wait(30.0)
        else:
            both_refused.wait(30.0)

    def record(into: list[Exchange]) -> Callable[[Exchange], None]:
        def note(exchange: Exchange) -> None:
            into.append(exchange)
            if [each.status for each in own + others].count(403) == 2:
                both_refused.set()

        return note

    own: list[Exchange] = []
    others: list[Exchange] = []
    one, other = (first.partner.in_new_session(record(into)) for into in (own, others))
    api.before_answering = hold
    api.script = [answer(403), answer(403), answer(body=SLOT), answer(body=SLOT)]
    key_path.write_text("pk_rotated")

    thread = threading.Thread(target=other.request_slot)
    thread.start()
    one.request_slot()
    thread.join(30.0)

    assert first.stop.reason is None
    assert [[exchange.status for exchange in each] for each in (own, others)] == [[403, 200], [403, 200]]


def test_a_wait_ends_with_the_run(api: ScriptedServer, client: Client, answer: Write) -> None:
    """A call that waits for its retry when the run is stopped is not repeated."""
    api.script = [answer(500), answer(body=SLOT)]
    client.stop.pull(RunMustStop("Ctrl-C.", ended_by="cancelled"))

    with pytest.raises(RunMustStop) as stopped:
        client.partner.request_slot()

    assert stopped.value.ended_by == "cancelled"
    assert len(api.received) == 1


def with_many_failures(client: Client, call: Call = Call.UPLOADS) -> Client:
    """Let a call fail for so many items that one more is doubtful."""
    failed = Exchange(
        call=call,
        attempt=1,
        started_at=datetime(2026, 11, 20, tzinfo=UTC),
        elapsed_ms=1.0,
        headers=AnswerHeaders(),
        status=500,
    )
    for _ in range(FAILURES_IN_A_ROW):
        client.dispatcher.note(failed)
    return client


def test_an_item_that_fails_alone_asks_for_no_control(api: ScriptedServer, client: Client, answer: Write) -> None:
    """Its file may cause the failures: it is given up after its attempts, and a control decides later."""
    asked: list[bool] = []
    api.script = [answer(500)] * 3

    with pytest.raises(CallFailed) as failed:
        client.partner.with_control(lambda: bool(asked.append(True))).request_slot()

    assert failed.value.reason == "http_500"
    assert asked == []
    assert client.stop.reason is None


def test_an_item_goes_on_when_the_control_comes_out_right(api: ScriptedServer, client: Client, answer: Write) -> None:
    """It waits until the service works again, and its attempts are left to it."""
    asked: list[int] = []
    api.script = [answer(500), answer(body=SLOT)]

    def control() -> bool:
        asked.append(len(api.received))
        client.dispatcher.hold(is_held=False)
        return True

    slot = with_many_failures(client).partner.with_control(control).request_slot()

    assert slot.upload_id == "u-2"
    assert asked == [1]


def test_an_item_is_given_up_where_no_control_can_be_made_yet(
    api: ScriptedServer, client: Client, answer: Write
) -> None:
    """It spends no further tries on a service that fails for many; its row is in doubt."""
    api.script = [answer(500)] * 9

    with pytest.raises(CallFailed) as failed:
        with_many_failures(client).partner.with_control(lambda: False).request_slot()

    assert failed.value.reason == "http_500"
    assert len(api.received) == 1


def test_a_refused_key_is_for_a_control_to_judge(api: ScriptedServer, client: Client, answer: Write) -> None:
    """One item may be refused by something on the way; the leg does not end for it."""
    api.script = [answer(403, b'{"error": "No.", "code": "forbidden"}')]

    with pytest.raises(CallFailed) as failed:
        client.partner.with_control(lambda: True).request_slot()

    assert (failed.value.reason, failed.value.status, failed.value.code) == ("http_403", 403, "forbidden")
    assert client.stop.reason is None


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
