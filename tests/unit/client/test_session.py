"""A call is repeated until it is answered: what is repeated, what is final, and what ends the run."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from proofsweep.domain.errors import CallFailed, RunMustStop, SlotSpent, SourceError
from proofsweep.domain.models import UploadResponse
from proofsweep.domain.reasons import Reason

from .conftest import AUDIO, AUDIO_BYTES, KEY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .conftest import Client, NewClient, ScriptedServer, Write

SLOT = b'{"uploadId": "u-2", "url": "http://127.0.0.1:1/", "fields": {}}'


def test_an_expired_slot_does_not_use_up_the_fresh_upload(
    api: ScriptedServer, storage: ScriptedServer, client: Client, answer: Write, slot: UploadResponse
) -> None:
    """Each of the two has its own remedy."""
    storage.script, api.script = [answer(403, b"")], [answer(404)]

    with pytest.raises(SlotSpent):
        client.partner.fill_slot(slot, AUDIO, AUDIO_BYTES)
    with pytest.raises(SlotSpent):
        client.partner.verify(slot, None)

    assert client.facts() == [("slot", 403, None), ("verify", 404, None)]


def test_a_slot_that_the_source_leaves_half_filled_is_recorded(client: Client, slot: UploadResponse) -> None:
    """It was asked for and charged, and no other slot is: the file is at fault, and no circuit counts it."""
    changed = SourceError("The file changed while it was being sent.", reason=Reason.SOURCE_CHANGED)

    def audio() -> Iterator[bytes]:
        yield AUDIO[0]
        raise changed

    with pytest.raises(SourceError):
        client.partner.fill_slot(slot, audio(), AUDIO_BYTES)

    assert client.facts() == [("slot", None, "source")]


def test_a_probe_spends_few_tries_and_opens_no_circuit(
    api: ScriptedServer, new_client: NewClient, answer: Write
) -> None:
    """Two tries, whatever the policy of items is, and also while the circuit is open."""
    client, opened = new_client(attempts=9), list[bool]()
    client.scheduler.on_open = lambda: opened.append(True)
    client.scheduler.probe_failed()
    api.script = [answer(500)] * 9

    with pytest.raises(CallFailed):
        client.partner.for_probes().request_slot()

    assert len(api.received) == 2
    assert opened == []


@pytest.mark.parametrize(("body", "opens"), [(b'{"error": "no", "code": "forbidden"}', True), (b"<html>", False)])
def test_a_key_that_is_refused_for_an_item_opens_the_circuit(
    api: ScriptedServer, client: Client, answer: Write, *, body: bytes, opens: bool
) -> None:
    """A probe decides then whether it is the key. A page that is no ApiError comes from something on the way."""
    opened: list[bool] = []
    client.scheduler.on_open = lambda: opened.append(True)
    api.script = [answer(403, body)]

    with pytest.raises(CallFailed):
        client.partner.for_items().request_slot()

    assert (bool(opened), client.stop.reason) == (opens, None)


def test_a_rotation_that_is_refused_is_not_asked_for_with_another_key(
    api: ScriptedServer, client: Client, answer: Write, key_path: Path
) -> None:
    """Its Idempotency-Key is the old key's. Other calls go on with a key that was replaced meanwhile."""
    refused = answer(403, b'{"error": "no", "code": "forbidden"}')
    api.script = [refused, refused, answer(200, b'{"keys": []}')]
    key_path.write_text("pk_other")

    with pytest.raises(RunMustStop):
        client.partner.rotate("x" * 16)
    client.stop.reason = None
    client.partner.keys()

    keys = [request.headers["x-api-key"] for request in api.received]
    assert keys == [KEY, KEY, "pk_other"]


@pytest.mark.parametrize("at_once", [1, 6])
def test_the_headroom_is_asked_for_in_an_outage_too(
    api: ScriptedServer, client: Client, answer: Write, slot: UploadResponse, *, at_once: int
) -> None:
    """Only probes go then, and one that meets a used-up quota must learn of it; one call serves all that wait."""
    throttled = answer(429, retry_after="1", x_ratelimit_remaining="0")
    api.before_answering = lambda request: api.script.append(
        answer(x_ratelimit_remaining="0") if "usage" in request.target else throttled
    )
    client.scheduler.probe_failed()
    ended: list[str] = []

    def verify() -> None:
        try:
            client.partner.for_probes().verify(slot, None)
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
    monkeypatch.setattr("proofsweep.client.transport.FIRST_CONTACT_SECONDS", 0.0)
    if is_reached:
        client.partner.session.context.transport.reached.set()

    with pytest.raises(CallFailed, match="the connection was refused"):
        client.partner.health()

    assert client.facts() == [("health", None, "connection")] * tries
