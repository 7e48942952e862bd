"""A proof is verified by its asset, for a while a file without a name; whatever happens is an outcome."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from proofsweep.client.client import Partner
from proofsweep.domain.errors import SourceError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import WorkItem
from proofsweep.domain.outcomes import Accepted, Failed, Finished
from proofsweep.domain.reasons import Ineligible
from proofsweep.verify.item import AssetFile, VerifyContext, verify_item

from ..scripted_service import Scripted, ScriptedService

WAV = b"RIFF\x2c\0\0\0WAVEfmt " + bytes(5_000)
ITEM = WorkItem(manifest_row=0, item_id="item", audio="proof:p/1")
LINK = Scripted(document={"url": "https://assets.example/a?sig=SECRET", "expiresAt": 7})
FLOW = [Call.ASSET, Call.DOWNLOAD, Call.UPLOADS, Call.SLOT, Call.VERIFY]


@pytest.fixture(autouse=True)
def asset(service: ScriptedService) -> None:
    service.usual |= {Call.ASSET: LINK, Call.DOWNLOAD: Scripted()}
    service.download = lambda: [WAV]


def finished(context: VerifyContext) -> Finished:
    done = verify_item(ITEM, context)
    assert isinstance(done, Finished)
    return done


def test_the_asset_goes_into_a_fresh_slot(verify_context: VerifyContext, service: ScriptedService) -> None:
    """Its bytes are hashed when they are sent; nothing is kept of its URL, and the file is gone."""
    done = finished(verify_context)

    assert isinstance(done.outcome, Accepted)
    assert (service.calls, service.bodies) == (FLOW, [{"uploadId": "u"}])
    assert WAV in service.uploads[0]
    assert done.read is not None
    assert (done.read.sha256, done.read.size_bytes) == (sha256(WAV).hexdigest(), len(WAV))
    assert (done.read.audio_format, done.read.version) == ("wav", None)
    assert [exchange.call for exchange in done.exchanges] == FLOW
    assert "SECRET" not in repr(done)


def no_asset(service: ScriptedService) -> None:
    service.script[Call.ASSET] = [Scripted(status=404)]


def larger(service: ScriptedService) -> None:
    service.download = lambda: [WAV, WAV]


def flac(service: ScriptedService) -> None:
    service.download = lambda: [b"fLaC" + bytes(5_000)]


@pytest.mark.parametrize(
    ("given", "reason", "calls"), [(no_asset, "no_asset", 1), (larger, "too_large", 2), (flac, "unlisted_format", 2)]
)
def test_a_proof_whose_asset_cannot_be_sent_is_ineligible(
    verify_context: VerifyContext,
    service: ScriptedService,
    given: Callable[[ScriptedService], None],
    monkeypatch: pytest.MonkeyPatch,
    *,
    reason: str,
    calls: int,
) -> None:
    """A legacy pair's has none; without a Content-Length nobody knows its size before. No slot is asked for."""
    given(service)
    monkeypatch.setattr("proofsweep.verify.item.SLOT_BYTES", len(WAV))

    outcome = finished(verify_context).outcome

    assert isinstance(outcome, Ineligible)
    assert (outcome.reason, service.calls) == (reason, FLOW[:calls])


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
    session = verify_context.partner.session
    settings = session.context.service.model_copy(update={"asset_field": field})
    named = Partner(replace(session, context=replace(session.context, service=settings)))
    context = replace(verify_context, partner=named)

    outcome = finished(context).outcome

    assert (outcome.reason if isinstance(outcome, Failed) else None) == expected


def test_a_download_that_breaks_off_begins_again(verify_context: VerifyContext, service: ScriptedService) -> None:
    """From the same URL, as often as any call is repeated; then the row has failed."""

    def broken() -> Iterator[bytes]:
        yield WAV
        raise httpx.ReadError("gone")

    pieces: list[Iterable[bytes]] = [broken(), [WAV]]
    service.download = lambda: pieces.pop(0) if pieces else broken()
    done = finished(verify_context)

    assert isinstance(done.outcome, Accepted)
    assert done.read is not None
    assert done.read.size_bytes == len(WAV), "what broke off has left nothing"
    assert service.calls == [Call.ASSET, Call.DOWNLOAD, *FLOW[1:]]
    outcome = finished(verify_context).outcome

    assert isinstance(outcome, Failed)
    assert (outcome.reason, service.uploads[1:]) == ("bad_answer", [])


def test_a_file_has_no_name_and_a_body_beyond_the_bound_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So nothing is left of it, even if the process is killed; and a body may be endless."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("proofsweep.verify.item.SLOT_BYTES", 10)
    body = iter([b"123456"] * 9)

    with AssetFile() as file:
        file.take([b"abc"])
        assert file.read_at(0, 10) == b"abc"
        assert list(tmp_path.iterdir()) == []
        file.take(body)

    assert isinstance(file.error, SourceError)
    assert (file.error.reason, len(list(body))) == ("too_large", 7)
