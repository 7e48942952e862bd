"""A call is repeated until it is answered: what is repeated, what is final, and what ends the run."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from proofsweep.client.pacing.service_health import ServiceHealth
from proofsweep.contract.headers import AnswerHeaders
from proofsweep.contract.models import UploadResponse
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.errors import CallFailed, RunMustStop, SlotRefused, SlotSpent

if TYPE_CHECKING:
    from collections.abc import Callable

    from proofsweep.client.partner import Partner

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


def test_a_success_that_cannot_be_read_is_repeated(api: ScriptedServer, client: Client, answer: Write) -> None:
    """Verifying has no side effects (contract, Retry safety)."""
    api.script = [answer(body=b"<html>"), answer(body=b'{"good"', content_length="99"), answer(body=VALID)]

    verified = client.partner.verify(UploadResponse.model_validate_json(SLOT), None)

    assert verified.response.verdict == "valid"
    assert client.facts() == [("verify", 200, "bad_answer")] * 2 + [("verify", 200, None)]


@pytest.mark.parametrize("verdict", ["tampered", "local_seal", "quantumSealed"])
def test_a_verdict_is_never_asked_for_again(api: ScriptedServer, client: Client, answer: Write, verdict: str) -> None:
    """A rejection is an answer like any other."""
    api.script = [answer(body=b'{"good": false, "verdict": "%s"}' % verdict.encode())] * 2

    verified = client.partner.verify(UploadResponse.model_validate_json(SLOT), None)

    assert verified.response.verdict == verdict
    assert len(api.received) == 1


@pytest.mark.parametrize("status", [413, 422, 451])
def test_a_refusal_of_the_audio_itself_is_final(
    api: ScriptedServer, client: Client, answer: Write, status: int
) -> None:
    """A second upload of the same bytes would cost two calls and be refused the same."""
    api.script = [answer(status, b'{"code": "unprocessable"}')]

    with pytest.raises(CallFailed) as failed:
        client.partner.verify(UploadResponse.model_validate_json(SLOT), None)

    assert failed.value.reason == f"http_{status}"
    assert len(api.received) == 1


@pytest.mark.parametrize("status", [408, 425])
def test_a_storage_target_that_was_too_busy_gets_a_fresh_slot_after_a_wait(
    storage: ScriptedServer, client: Client, answer: Write, slot: UploadResponse, *, audio: Bytes, status: int
) -> None:
    """The upload came too late or too early; the audio is not refused."""
    storage.script = [answer(status, b"")]

    with pytest.raises(SlotSpent):
        client.partner.fill_slot(slot, audio)

    assert client.facts() == [("slot", status, None)]


@pytest.mark.parametrize("status", [400, 404, 409, 410])
def test_a_refusal_to_verify_gets_one_fresh_upload(
    api: ScriptedServer, client: Client, answer: Write, status: int
) -> None:
    """The upload may be gone; the second refusal is final."""
    slot = UploadResponse.model_validate_json(SLOT)
    api.script = [answer(status), answer(status, b'{"code": "upload_gone"}')]

    with pytest.raises(SlotSpent):
        client.partner.verify(slot, None)
    with pytest.raises(CallFailed) as failed:
        client.partner.verify(slot, None)

    assert (failed.value.reason, failed.value.code) == (f"http_{status}", "upload_gone")


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


def test_a_storage_target_that_never_takes_the_audio_is_given_up(
    storage: ScriptedServer, client: Client, answer: Write, slot: UploadResponse, audio: Bytes
) -> None:
    """Fresh slots cost calls, so their number is limited."""
    storage.script = [answer(403, b"")] * 3

    for _ in range(2):
        with pytest.raises(SlotSpent):
            client.partner.fill_slot(slot, audio)
    with pytest.raises(SlotRefused) as refused:
        client.partner.fill_slot(slot, audio)

    assert (refused.value.stage, refused.value.reason, refused.value.status) == ("slot", "slot_refused", 403)


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


def test_a_used_up_quota_stops_the_run(api: ScriptedServer, client: Client, answer: Write) -> None:
    """A busy lane and a used-up quota answer alike; the headroom of GET /partner/usage decides."""
    api.script = [answer(429, retry_after="1", x_ratelimit_remaining="0"), answer(x_ratelimit_remaining="0")]

    with pytest.raises(RunMustStop) as stopped:
        client.partner.request_slot()

    assert stopped.value.ended_by == "quota"
    assert client.stop.reason is not None
    assert len(api.received) == 2


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


def test_a_usage_call_that_is_throttled_for_a_moment_is_repeated(
    api: ScriptedServer, client: Client, answer: Write
) -> None:
    """Up to five times, whatever the attempts of other failures are: a 429 is no failure."""
    throttled = answer(429, retry_after="0.001")
    api.script = [*[throttled] * 4, answer(), *[throttled] * 5]
    once = client.partner.with_attempts(1)

    once.usage(days=1)
    with pytest.raises(CallFailed):
        once.in_new_session(client.unattributed.append).usage(days=1)

    assert len(api.received) == 10


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


@pytest.mark.parametrize("at_once", [1, 6])
def test_the_headroom_is_asked_for_in_an_outage_too(
    api: ScriptedServer,
    storage: ScriptedServer,
    new_client: NewClient,
    answer: Write,
    slot: UploadResponse,
    *,
    audio: Bytes,
    at_once: int,
) -> None:
    """One call at a time may go in an outage, and a call that was throttled is over: the question is the next one."""
    client = new_client(health=ServiceHealth(breaker_failures=2, breaker_seconds=60.0))
    storage.script = [answer(503, b"")] * 2
    throttled = answer(429, retry_after="1", x_ratelimit_remaining="0")
    api.before_answering = lambda request: api.script.append(
        answer(x_ratelimit_remaining="0") if "usage" in request.target else throttled
    )
    for _ in range(2):
        with pytest.raises(SlotSpent):
            client.partner.fill_slot(slot, audio)
    ended: list[str] = []

    def verify() -> None:
        try:
            client.partner.in_new_session(client.unattributed.append).verify(slot, None)
        except RunMustStop as stopped:
            ended.append(stopped.ended_by)

    threads = [threading.Thread(target=verify, daemon=True) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10.0)

    assert client.dispatcher.status().is_outage
    assert ended == ["quota"] * at_once


def test_a_quota_header_that_came_twice_is_absent(api: ScriptedServer, client: Client, answer: Write) -> None:
    """As a gateway sends it that adds its own; the exchange names it."""
    api.script = [answer(x_ratelimit_remaining="5\r\nX-RateLimit-Remaining: 5", x_ratelimit_limit="-1")]

    headers = client.partner.usage(days=1)[1]

    assert (headers.rate_remaining, headers.rate_limit) == (None, None)
    assert headers.unreadable == ("x-ratelimit-limit", "x-ratelimit-remaining")


def test_a_refused_key_stops_the_run(api: ScriptedServer, client: Client, answer: Write) -> None:
    """It would be refused for every item (contract, Authentication 3)."""
    api.script = [answer(403, b'{"error": "No.", "code": "forbidden"}')] * 2

    with pytest.raises(RunMustStop) as stopped:
        client.partner.request_slot()

    assert stopped.value.ended_by == "key_refused"
    assert len(api.received) == 1


def test_a_key_rotated_meanwhile_is_used(api: ScriptedServer, client: Client, answer: Write, key_path: Path) -> None:
    """Its file is read again, once, and the call is repeated with the new key."""
    api.script = [answer(403), answer(body=SLOT)]
    key_path.write_text("pk_rotated")

    client.partner.request_slot()

    assert [request.headers["x-api-key"] for request in api.received] == ["pk_SECRET_of_this_test", "pk_rotated"]


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


def test_a_service_that_fails_for_every_item_ends_the_run(
    api: ScriptedServer, new_client: NewClient, answer: Write
) -> None:
    """The item is not failed: its row remains for another leg."""
    client = new_client(health=ServiceHealth(breaker_failures=4, breaker_seconds=0.0))
    others = client.partner.in_new_session(client.unattributed.append)
    api.script = [answer(500)] * 9

    with pytest.raises(CallFailed):
        others.request_slot()
    with pytest.raises(RunMustStop) as stopped:
        client.partner.request_slot()

    assert stopped.value.ended_by == "breaker"
    assert client.facts() == [("uploads", 500, None)]


def test_an_item_that_fails_alone_is_failed(api: ScriptedServer, client: Client, answer: Write) -> None:
    """Its file may cause the failures; other items are answered."""
    others = client.partner.in_new_session(client.unattributed.append)
    api.script = [answer(500), answer(500), answer(body=SLOT), answer(500)]
    with pytest.raises(CallFailed) as failed:
        client.partner.with_attempts(2).request_slot()

    others.request_slot()

    assert failed.value.reason == "http_500"
    assert client.stop.reason is None


def ask_for_a_slot(partner: Partner) -> None:
    """Probe the service with a call that no item needs."""
    partner.request_slot()


def test_an_item_that_fails_while_the_probe_is_answered_is_failed(
    api: ScriptedServer, new_client: NewClient, answer: Write
) -> None:
    """Where no other item asks, the health probe does, with exchanges that belong to no row."""
    client = new_client(attempts=2)
    api.script = [answer(500), answer(500), answer(body=SLOT)]

    with pytest.raises(CallFailed) as failed:
        client.partner.with_probe(ask_for_a_slot).request_slot()

    assert failed.value.reason == "http_500"
    assert [(str(exchange.call), exchange.status) for exchange in client.unattributed] == [("uploads", 200)]
    assert client.stop.reason is None


def test_an_item_that_fails_while_the_probe_fails_too_remains(
    api: ScriptedServer, new_client: NewClient, answer: Write
) -> None:
    """A single row is no proof that the service is well: the leg ends when the outage has lasted too long."""
    client = new_client(attempts=2, health=ServiceHealth(breaker_failures=10, breaker_seconds=0.0))
    api.script = [answer(500)] * 9

    with pytest.raises(RunMustStop) as stopped:
        client.partner.with_probe(ask_for_a_slot).request_slot()

    assert stopped.value.ended_by == "breaker"
    assert len(client.unattributed) == 2


def test_an_item_goes_on_when_the_service_is_back(api: ScriptedServer, new_client: NewClient, answer: Write) -> None:
    """Its attempts are used up in the outage, and it is not failed for that; one probe holds for ten seconds."""
    client = new_client(attempts=2)
    api.script = [*[answer(500)] * 5, answer(body=SLOT)]

    slot = client.partner.with_probe(ask_for_a_slot).request_slot()

    assert slot.upload_id == "u-2"
    assert [exchange.status for exchange in client.exchanges] == [500, 500, 500, 200]
    assert [exchange.status for exchange in client.unattributed] == [500, 500]


class ClockPutBack(datetime):
    """A wall clock that is put back by an hour whenever it is read."""

    readings = 0

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> ClockPutBack:
        """Read it."""
        cls.readings += 1
        return cls(2026, 11, 20, tzinfo=tz) - timedelta(hours=cls.readings)


def test_a_wall_clock_that_is_put_back_in_an_outage_blames_no_item(
    api: ScriptedServer, new_client: NewClient, answer: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By that clock the last answer came hours after the outage began; by the monotonic one it came before."""
    monkeypatch.setattr("proofsweep.client.transport.datetime", ClockPutBack)
    client = new_client(attempts=2)
    api.script = [answer(body=SLOT), *[answer(500)] * 5, answer(body=SLOT)]
    client.partner.in_new_session(client.unattributed.append).request_slot()

    slot = client.partner.with_probe(ask_for_a_slot).request_slot()

    times = [exchange.started_at for exchange in [*client.unattributed[:1], *client.exchanges]]
    assert slot.upload_id == "u-2"
    assert times == sorted(times, reverse=True)
    assert client.stop.reason is None


def test_no_probe_is_made_while_many_items_fail(api: ScriptedServer, new_client: NewClient, answer: Write) -> None:
    """They are proof enough, and a service in an outage gets no more calls than needed."""
    client = new_client(attempts=2, health=ServiceHealth(breaker_failures=2, breaker_seconds=0.0))
    for _ in range(2):
        client.dispatcher.note(_failed(Call.VERIFY), holder=object())
    api.script = [answer(500)] * 9

    with pytest.raises(RunMustStop):
        client.partner.with_probe(ask_for_a_slot).request_slot()

    assert client.unattributed == []


def test_a_rotation_that_is_always_throttled_is_given_up(api: ScriptedServer, client: Client, answer: Write) -> None:
    """It has a lane of its own, so no other call waits (contract, Endpoints 3)."""
    api.script = [answer(429, retry_after="0.001")] * 3

    with pytest.raises(CallFailed) as failed:
        client.partner.rotate("rotation-of-november-2026")

    assert failed.value.reason == "http_429"
    assert len(api.received) == 3


def _failed(call: Call) -> Exchange:
    started_at = datetime(2026, 11, 20, tzinfo=UTC)
    return Exchange(call=call, attempt=1, started_at=started_at, elapsed_ms=1.0, headers=AnswerHeaders(), status=500)


def test_a_wait_ends_with_the_run(api: ScriptedServer, client: Client, answer: Write) -> None:
    """A call that waits for its retry when the run is stopped is not repeated."""
    api.script = [answer(500), answer(body=SLOT)]
    client.stop.pull(RunMustStop("Ctrl-C.", ended_by="cancelled"))

    with pytest.raises(RunMustStop) as stopped:
        client.partner.request_slot()

    assert stopped.value.ended_by == "cancelled"
    assert len(api.received) == 1
