"""One file, now: as in a run, and nothing is stored."""

import os
from pathlib import Path

import pytest

from proofsweep.client.client import Partner
from proofsweep.domain.errors import CatalogError, SourceError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.headers import SLOT_BYTES
from proofsweep.domain.items import FileFacts, Mode
from proofsweep.domain.outcomes import Accepted, Deferred, Finished
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.files import Files
from proofsweep.sources.source import OpenFile
from proofsweep.verify.check_file import located_item
from proofsweep.verify.item import VerifyContext, verify_item

from ..scripted_service import NOW, ScriptedService

THREE_CALLS = [Call.UPLOADS, Call.SLOT, Call.VERIFY]


class ForbiddenFiles(Files):
    """Files whose facts nobody may know, nor what is in them."""

    def facts(self, location: str) -> FileFacts | None:
        """Refuse."""
        raise SourceError(f"No access to {location}.", reason=Reason.UNREADABLE_FILE)

    def open(self, location: str, *, is_whole: bool = False) -> OpenFile:
        """Refuse."""
        del is_whole
        raise SourceError(f"No access to {location}.", reason=Reason.UNREADABLE_FILE)


def check(partner: Partner, audio: str, sidecar: str | None = None, files: Files | None = None) -> Finished | Deferred:
    files = files or Files()
    context = VerifyContext(partner=partner, files=files, clock=lambda: NOW)
    return verify_item(located_item(audio, sidecar, "sidecar", files), context)


def test_a_file_is_taken_through_the_core_flow(partner: Partner, service: ScriptedService, wav: Path) -> None:
    """Its outcome is a value, with all its exchanges."""
    done = check(partner, str(wav))

    assert isinstance(done, Finished)
    assert isinstance(done.outcome, Accepted)
    assert (done.item.audio, done.item.manifest_row, done.item.mode) == (str(wav), 0, Mode.ONE_FILE)
    assert [exchange.call for exchange in done.exchanges] == service.calls == THREE_CALLS


def test_locations_are_of_the_working_folder(partner: Partner, wav: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a person writes them in a shell; an item's ID does not depend on the machine."""
    monkeypatch.chdir(wav.parent)

    here, absolute = check(partner, wav.name), check(partner, str(wav))

    assert here.item == absolute.item
    assert isinstance(here, Finished)
    assert isinstance(here.outcome, Accepted)


@pytest.mark.parametrize(
    ("size", "sidecar", "reason"),
    [
        (None, None, Reason.MISSING_AUDIO),
        (0, None, Reason.EMPTY),
        (SLOT_BYTES + 1, None, Reason.TOO_LARGE),
        (52, "nowhere.proof", Reason.MISSING_SIDECAR),
    ],
)
def test_what_cannot_be_sent_costs_no_call(
    partner: Partner, service: ScriptedService, tmp_path: Path, *, size: int | None, sidecar: str | None, reason: Reason
) -> None:
    """The listing's facts say so, as when a run is planned."""
    audio = tmp_path / "b.wav"
    if size is not None:
        audio.touch()
        os.truncate(audio, size)

    done = check(partner, str(audio), None if sidecar is None else str(tmp_path / sidecar))

    assert isinstance(done, Finished)
    assert isinstance(done.outcome, Ineligible)
    assert done.outcome.reason is reason
    assert service.calls == []


def test_a_file_that_may_not_be_read_says_why(partner: Partner, service: ScriptedService, wav: Path) -> None:
    """It is there, perhaps; what the system said is the detail."""
    done = check(partner, str(wav), files=ForbiddenFiles())

    assert isinstance(done, Finished)
    assert done.outcome == Ineligible(Reason.UNREADABLE_FILE, f"No access to {wav}.")
    assert service.calls == []


@pytest.mark.parametrize("location", ["https://host/a.wav", "s3://user:word@bucket/a.wav"])
def test_a_location_that_is_not_read_is_an_error(partner: Partner, service: ScriptedService, location: str) -> None:
    """Of another kind, or with credentials, which the message does not repeat."""
    with pytest.raises(CatalogError) as refused:
        check(partner, location)

    assert "word" not in refused.value.message.replace("password", "")
    assert service.calls == []
