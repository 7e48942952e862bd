"""A proof is verified by its asset, which passes through memory; whatever happens is an outcome."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256

import httpcore
import pytest

from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import WorkItem
from proofsweep.domain.outcomes import Accepted, Deferred, Failed, Finished, Rejected
from proofsweep.domain.reasons import Ineligible
from proofsweep.usecases.item.item_work import VerifyContext
from proofsweep.usecases.item.verify_item import verify_item

from ..scripted_service import Scripted, ScriptedService

WAV = b"RIFF\x2c\0\0\0WAVEfmt " + bytes(5_000)
ITEM = WorkItem(manifest_row=0, item_id="item", audio="proof:p/1")
LINK = Scripted(document={"url": "https://assets.example/a?sig=SECRET", "expiresAt": 7})
FLOW = [Call.ASSET, Call.DOWNLOAD, Call.UPLOADS, Call.SLOT, Call.VERIFY]


@pytest.fixture(autouse=True)
def asset(service: ScriptedService) -> None:
    """A service that has the asset."""
    service.usual |= {Call.ASSET: LINK, Call.DOWNLOAD: Scripted()}
    service.download = lambda: [WAV]


def finished(context: VerifyContext) -> Finished:
    """Verify the proof."""
    done = verify_item(ITEM, context)
    assert isinstance(done, Finished)
    return done


def test_the_asset_goes_into_a_fresh_slot(verify_context: VerifyContext, service: ScriptedService) -> None:
    """Its bytes are hashed on their way; nothing is kept of its URL."""
    done = finished(verify_context)

    assert isinstance(done.outcome, Accepted)
    assert (service.calls, service.bodies) == (FLOW, [{"uploadId": "u"}])
    assert WAV in service.uploads[0]
    assert done.read is not None
    assert (done.read.sha256, done.read.size_bytes) == (sha256(WAV).hexdigest(), len(WAV))
    assert (done.read.audio_format, done.read.version) == ("wav", None)
    assert sorted(exchange.call for exchange in done.exchanges) == sorted(FLOW)
    assert "SECRET" not in repr(done)


def test_a_rejection_is_one(verify_context: VerifyContext, service: ScriptedService) -> None:
    """There is no local file that could have changed meanwhile."""
    service.script[Call.VERIFY] = [Scripted(document={"good": False, "verdict": "unregistered"})]

    assert isinstance(finished(verify_context).outcome, Rejected)


def test_a_proof_without_an_asset_is_ineligible(verify_context: VerifyContext, service: ScriptedService) -> None:
    """As a legacy pair's: nothing else is asked."""
    service.script[Call.ASSET] = [Scripted(status=404)]

    outcome = finished(verify_context).outcome

    assert isinstance(outcome, Ineligible)
    assert (outcome.reason, service.calls) == ("no_asset", [Call.ASSET])


@pytest.mark.parametrize(
    ("members", "field", "expected"),
    [
        ({"url": "https://a.example/1", "other": "https://a.example/2"}, None, "bad_answer"),
        ({"url": "https://a.example/1", "other": "https://a.example/2"}, "other", None),
        ({"url": "http://a.example/1"}, None, "bad_answer"),
        ({"url": "ftp://a.example/1", "x": 7}, None, "bad_answer"),
        ({"url": "https://a.example/1"}, "other", "bad_answer"),
        ({}, None, "bad_answer"),
        ([], None, "bad_answer"),
    ],
)
def test_the_url_is_the_named_member_or_the_only_one(
    verify_context: VerifyContext, service: ScriptedService, members: object, field: str | None, expected: str | None
) -> None:
    """The contract does not show its name; without TLS it is no URL."""
    service.script[Call.ASSET] = [Scripted(document=members)]
    context = replace(verify_context, partner=replace(verify_context.partner, asset_field=field))

    outcome = finished(context).outcome

    assert (outcome.reason if isinstance(outcome, Failed) else None) == expected


def test_an_expired_url_is_asked_for_again(verify_context: VerifyContext, service: ScriptedService) -> None:
    """It is short-lived; a URL that stays refused is a failure."""
    service.script[Call.DOWNLOAD] = [Scripted(status=403)]
    assert isinstance(finished(verify_context).outcome, Accepted)

    service.usual[Call.DOWNLOAD] = Scripted(status=403)
    outcome = finished(verify_context).outcome

    assert isinstance(outcome, Failed)
    assert (outcome.reason, service.calls.count(Call.DOWNLOAD)) == ("http_403", 5)


def test_a_download_that_breaks_off_begins_again(verify_context: VerifyContext, service: ScriptedService) -> None:
    """With a fresh slot; after three times the row has failed."""

    def broken() -> Iterator[bytes]:
        yield WAV
        raise httpcore.ReadError("gone")

    pieces: list[Iterable[bytes]] = [broken(), [WAV]]
    service.download = lambda: pieces.pop(0) if pieces else broken()
    assert isinstance(finished(verify_context).outcome, Accepted)

    outcome = finished(verify_context).outcome

    assert isinstance(outcome, Failed)
    assert outcome.reason == "source_unavailable"


def test_an_asset_beyond_the_slot_is_read_once(verify_context: VerifyContext, service: ScriptedService) -> None:
    """Without a Content-Length nobody knows its size before."""
    context = replace(verify_context, limits=replace(verify_context.limits, one_file=len(WAV)))
    service.download = lambda: [WAV, WAV]

    outcome = finished(context).outcome

    assert isinstance(outcome, Ineligible)
    assert (outcome.reason, service.calls) == ("too_large", FLOW[:2])


def test_a_spent_slot_gets_another_download(verify_context: VerifyContext, service: ScriptedService) -> None:
    """The bytes are not kept, so they come again."""
    service.script[Call.SLOT] = [Scripted(status=403)]

    assert isinstance(finished(verify_context).outcome, Accepted)
    assert service.calls == [*FLOW[:4], *FLOW]


def test_an_asset_that_is_no_wav_is_not_sent(verify_context: VerifyContext, service: ScriptedService) -> None:
    """No slot is asked for."""
    service.download = lambda: [b"fLaC" + bytes(5_000)]

    outcome = finished(verify_context).outcome

    assert isinstance(outcome, Ineligible)
    assert (outcome.reason, service.calls) == ("unlisted_format", FLOW[:2])


@pytest.mark.parametrize("call", [Call.ASSET, Call.UPLOADS, Call.VERIFY])
def test_a_refused_key_leaves_the_row(verify_context: VerifyContext, service: ScriptedService, call: Call) -> None:
    """It remains for the next leg."""
    service.usual[call] = Scripted(status=403)

    assert isinstance(verify_item(ITEM, verify_context), Deferred)
