"""The core flow of one item: slot, form POST, verify; and every way in which it may end is a value."""

import os
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from proofsweep.client.stop import StopSwitch
from proofsweep.domain.errors import ResourceShortage, SourceError
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.items import FileFacts, Mode, WorkItem
from proofsweep.domain.outcomes import Accepted, Deferred, Failed, Finished, Rejected, word_for
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.audio import PIECE_BYTES
from proofsweep.sources.files import Files
from proofsweep.sources.source import OpenFile
from proofsweep.verify.duplicates import DuplicateCache
from proofsweep.verify.item import VerifyContext, verify_item

from ..scripted_service import Scripted, ScriptedService

REJECTED = Scripted(document={"good": False, "verdict": "unreadable"})


@pytest.fixture
def item(wav: Path) -> WorkItem:
    """A planned one-file item."""
    return WorkItem(manifest_row=7, item_id="a", audio=str(wav))


def finished(done: Finished | Deferred) -> Finished:
    """See that an item was finished."""
    assert isinstance(done, Finished)
    return done


def test_a_healthy_item_takes_three_steps(
    service: ScriptedService, verify_context: VerifyContext, item: WorkItem
) -> None:
    """(1) a slot, (2) the form POST with its very bytes, (3) the verdict; and no call besides."""
    recorded: list[Exchange] = []

    done = finished(verify_item(item, verify_context, recorded.append))

    content = Path(item.audio).read_bytes()
    assert isinstance(done.outcome, Accepted)
    assert service.calls == [Call.UPLOADS, Call.SLOT, Call.VERIFY]
    assert content in service.uploads[0]
    assert done.read is not None
    assert done.read.sha256 == sha256(content).hexdigest()
    assert [exchange.request_id for exchange in recorded] == ["id-1", "id-2", "id-3"]
    assert done.exchanges == recorded


def test_a_sidecar_travels_with_verify(
    service: ScriptedService, verify_context: VerifyContext, item: WorkItem, tmp_path: Path
) -> None:
    """As base64 under its wire name; its presence chooses the mode."""
    sidecar = tmp_path / "a.sidecar"
    sidecar.write_bytes(b"proof")

    done = finished(verify_item(replace(item, sidecar=str(sidecar)), verify_context))

    assert service.bodies == [{"uploadId": "u", "sidecar": "cHJvb2Y="}]
    assert done.item.mode is Mode.LEGACY_PAIR
    assert done.read is not None
    assert done.read.sidecar_sha256 == sha256(b"proof").hexdigest()


@pytest.mark.parametrize(
    ("document", "outcome", "reason"),
    [
        ({"good": False, "verdict": "tampered"}, "rejected", "tampered"),
        ({"good": True, "verdict": "tampered"}, "rejected", "contradictory_answer"),
        ({"good": True, "verdict": "quantumSealed"}, "rejected", "unknown_verdict"),
        ({"good": "yes", "verdict": "valid"}, "failed", "bad_answer"),
    ],
)
def test_an_answer_is_read_as_the_contract_says(
    service: ScriptedService,
    verify_context: VerifyContext,
    item: WorkItem,
    *,
    document: object,
    outcome: str,
    reason: str,
) -> None:
    """A rejection is an answer, and is not asked for again; an answer without its parts is a failure."""
    service.script[Call.VERIFY] = [Scripted(document=document)]

    done = finished(verify_item(item, verify_context))

    assert isinstance(done.outcome, Rejected | Failed)
    assert (word_for(done.outcome), done.outcome.reason) == (outcome, reason)
    assert service.calls.count(Call.VERIFY) == 1


def test_a_spent_slot_is_replaced(service: ScriptedService, verify_context: VerifyContext, item: WorkItem) -> None:
    """A 403 of the storage target says that the slot has expired: the item begins again with a fresh one."""
    service.script[Call.SLOT] = [Scripted(status=403)]

    done = finished(verify_item(item, verify_context))

    assert isinstance(done.outcome, Accepted)
    assert service.calls == [Call.UPLOADS, Call.SLOT, Call.UPLOADS, Call.SLOT, Call.VERIFY]


def test_an_upload_that_is_gone_is_brought_once_more(
    service: ScriptedService, verify_context: VerifyContext, item: WorkItem
) -> None:
    """A 404 at verify leads to one fresh slot; a second one ends the item."""
    service.usual[Call.VERIFY] = Scripted(status=404)

    done = finished(verify_item(item, verify_context))

    assert done.outcome == Failed(
        reason="http_404", detail="Status 404 (not_found) from the call verify.", error_code=None
    )
    assert service.calls == [Call.UPLOADS, Call.SLOT, Call.VERIFY] * 2


def test_a_refused_upload_fails_its_item_alone(
    service: ScriptedService, verify_context: VerifyContext, item: WorkItem
) -> None:
    """The audio is not stored, so verify is not called."""
    service.script[Call.SLOT] = [Scripted(status=413)]

    done = finished(verify_item(item, verify_context))

    assert isinstance(done.outcome, Failed)
    assert done.outcome.reason == Reason.SLOT_REFUSED
    assert Call.VERIFY not in service.calls


def test_bytes_that_storage_did_not_take_to_the_end_have_no_digest(
    service: ScriptedService, verify_context: VerifyContext, item: WorkItem, tmp_path: Path
) -> None:
    """The target refuses halfway: neither the audio's part nor the sidecar, which goes with verify, was sent."""
    Path(item.audio).write_bytes(b"RIFF\x24\0\0\0WAVEfmt " + bytes(3 * PIECE_BYTES))
    sidecar = tmp_path / "a.sidecar"
    sidecar.write_bytes(b"proof")
    service.script[Call.SLOT] = [Scripted(status=413)]
    service.slot_pieces = 2  # of four

    done = finished(verify_item(replace(item, sidecar=str(sidecar)), verify_context))

    assert PIECE_BYTES < len(service.uploads[0]) < 3 * PIECE_BYTES
    assert isinstance(done.outcome, Failed)
    assert done.read is not None
    assert (done.read.audio_format, done.read.sha256, done.read.sidecar_sha256) == ("wav", None, None)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", Reason.EMPTY), (b"fLaC" + bytes(64), Reason.UNLISTED_FORMAT), (b"caff" + bytes(64), Reason.NOT_WAV)],
)
def test_content_that_cannot_be_sent_costs_no_call(
    service: ScriptedService, verify_context: VerifyContext, item: WorkItem, content: bytes, reason: Reason
) -> None:
    """The name says WAV, and the content counts."""
    Path(item.audio).write_bytes(content)

    done = finished(verify_item(item, verify_context))

    assert isinstance(done.outcome, Ineligible)
    assert done.outcome.reason is reason
    assert service.calls == []


def test_a_file_that_is_still_missing_has_the_words_of_its_plan(verify_context: VerifyContext, item: WorkItem) -> None:
    """They say what names it: a line of a manifest, a message or a bag."""
    planned = Ineligible(Reason.MISSING_AUDIO, "m.csv, line 2: There is no audio at this location.")
    missing = replace(item, audio="/nowhere.wav", ineligible=planned)

    assert finished(verify_item(missing, verify_context)).outcome == planned


def test_a_file_that_changes_while_it_is_sent_has_failed_for_now(
    service: ScriptedService, verify_context: VerifyContext, item: WorkItem
) -> None:
    """It says nothing about the credential; no digest of a part of it is kept."""
    service.on_call = lambda call: call is Call.SLOT and Path(item.audio).write_bytes(b"RIFF shorter")

    done = finished(verify_item(item, verify_context))

    assert isinstance(done.outcome, Failed)
    assert done.outcome.reason == Reason.SOURCE_CHANGED
    assert done.read is not None
    assert done.read.sha256 is None


def test_the_same_bytes_are_sent_once(
    service: ScriptedService, verify_context: VerifyContext, item: WorkItem, stop: StopSwitch
) -> None:
    """The second item takes the first one's answer, and names it."""
    context = replace(verify_context, duplicates=DuplicateCache(stop))

    first = finished(verify_item(item, context))
    second = finished(verify_item(replace(item, manifest_row=8), context))

    assert second.original is first
    assert second.outcome == first.outcome
    assert second.exchanges == []
    assert service.calls == [Call.UPLOADS, Call.SLOT, Call.VERIFY]


def test_a_copy_with_the_sidecar_that_was_not_answered_is_sent_itself(
    service: ScriptedService, verify_context: VerifyContext, item: WorkItem, stop: StopSwitch, tmp_path: Path
) -> None:
    """A slot expires, and the sidecar is corrected before the next one: only the corrected one is accepted."""
    sidecars = [tmp_path / "a.sidecar", tmp_path / "copy.sidecar"]
    for sidecar in sidecars:
        sidecar.write_bytes(b"damaged")
    service.script[Call.SLOT] = [Scripted(status=403)]
    service.on_answer = lambda call: call is Call.SLOT and sidecars[0].write_bytes(b"proof")
    context = replace(verify_context, duplicates=DuplicateCache(stop))

    first = finished(verify_item(replace(item, sidecar=str(sidecars[0])), context))
    service.usual[Call.VERIFY] = REJECTED
    second = finished(verify_item(replace(item, manifest_row=8, sidecar=str(sidecars[1])), context))

    assert (word_for(first.outcome), word_for(second.outcome)) == ("accepted", "rejected")
    assert second.original is None
    assert service.bodies == [{"uploadId": "u", "sidecar": base64} for base64 in ("cHJvb2Y=", "ZGFtYWdlZA==")]


def test_a_mistake_of_ours_lets_no_other_item_wait(
    service: ScriptedService, verify_context: VerifyContext, item: WorkItem, stop: StopSwitch
) -> None:
    """An unexpected error is raised, and the next item with the same bytes is verified itself."""
    duplicates = DuplicateCache(stop)

    def fail(_call: Call) -> None:
        raise ZeroDivisionError

    service.on_call = fail
    with pytest.raises(ZeroDivisionError):
        verify_item(item, replace(verify_context, duplicates=duplicates))

    assert duplicates._originals == {}


def append_to(path: Path) -> None:
    """Let a delivery go on."""
    with path.open("ab") as file:
        file.write(bytes(8))


def replace_whole(path: Path) -> None:
    """Put another file of the same size in its place, as a tool does that writes a new one and renames it."""
    other = path.with_name("other")
    other.write_bytes(bytes(path.stat().st_size))
    os.utime(other, ns=(0, 0))
    other.rename(path)


@pytest.mark.parametrize("change", [append_to, replace_whole, Path.unlink])
@pytest.mark.parametrize("when", [Call.SLOT, Call.VERIFY])
def test_a_rejected_file_that_changed_meanwhile_has_failed_for_now(
    service: ScriptedService,
    verify_context: VerifyContext,
    item: WorkItem,
    change: Callable[[Path], None],
    when: Call,
) -> None:
    """A part of a delivery says nothing about its credential, so nobody is told to reject it."""
    service.usual[Call.VERIFY] = REJECTED
    service.on_answer = lambda call: call is when and change(Path(item.audio))
    sent = sha256(Path(item.audio).read_bytes()).hexdigest()

    done = finished(verify_item(item, verify_context))

    assert isinstance(done.outcome, Failed)
    assert done.outcome.reason == Reason.SOURCE_CHANGED
    assert done.read is not None
    assert done.read.sha256 == sent


def test_a_rejected_pair_whose_sidecar_grew_meanwhile_has_failed_for_now(
    service: ScriptedService, verify_context: VerifyContext, item: WorkItem, tmp_path: Path
) -> None:
    """The sidecar may be delivered last."""
    sidecar = tmp_path / "a.sidecar"
    sidecar.write_bytes(b"pro")
    service.usual[Call.VERIFY] = REJECTED
    service.on_answer = lambda call: call is Call.VERIFY and sidecar.write_bytes(b"proof")

    done = finished(verify_item(replace(item, sidecar=str(sidecar)), verify_context))

    assert isinstance(done.outcome, Failed)
    assert done.outcome.reason == Reason.SOURCE_CHANGED


def test_an_acceptance_counts_for_the_bytes_that_were_sent(
    service: ScriptedService, verify_context: VerifyContext, item: WorkItem
) -> None:
    """What came after them is another version, and the row names the one that was accepted."""
    service.on_answer = lambda call: call is Call.VERIFY and append_to(Path(item.audio))

    done = finished(verify_item(item, verify_context))

    assert isinstance(done.outcome, Accepted)
    facts_now = verify_context.files.facts(item.audio)
    assert done.read is not None
    assert facts_now is not None
    assert done.read.version != facts_now.version


def test_a_rejection_stands_where_the_file_cannot_be_compared(
    service: ScriptedService, verify_context: VerifyContext, item: WorkItem
) -> None:
    """The service has answered; a source that is away now takes nothing from it."""

    class Away(Files):
        """Files whose facts cannot be had."""

        def facts(self, location: str) -> FileFacts | None:
            """Fail."""
            raise SourceError(f"{location} is away.", reason=Reason.SOURCE_UNAVAILABLE)

    service.usual[Call.VERIFY] = REJECTED

    done = finished(verify_item(item, replace(verify_context, files=Away())))

    assert isinstance(done.outcome, Rejected)


def test_a_copy_that_grows_does_not_take_over_a_rejection(
    service: ScriptedService, verify_context: VerifyContext, item: WorkItem, stop: StopSwitch, tmp_path: Path
) -> None:
    """It had the same bytes as a rejected file when it was read, and its delivery went on."""
    copy = tmp_path / "copy.wav"
    copy.write_bytes(Path(item.audio).read_bytes())

    class Growing(Files):
        """Files of which the copy has grown whenever its facts are asked for."""

        def facts(self, location: str) -> FileFacts | None:
            """Let it grow first."""
            if location == str(copy):
                append_to(copy)
            return super().facts(location)

    service.usual[Call.VERIFY] = REJECTED
    context = replace(verify_context, files=Growing(), duplicates=DuplicateCache(stop))

    first = finished(verify_item(item, context))
    second = finished(verify_item(replace(item, manifest_row=8, audio=str(copy)), context))

    assert isinstance(first.outcome, Rejected)
    assert isinstance(second.outcome, Failed)
    assert second.outcome.reason == Reason.SOURCE_CHANGED
    assert second.original is None


class Unreadable(Files):
    """Files that cannot be opened.

    Attributes:
        error: why.
    """

    error = SourceError("No luck.", reason=Reason.SOURCE_CHANGED)

    def open(self, location: str, *, is_whole: bool = False) -> OpenFile:
        """Fail."""
        del location, is_whole
        raise self.error


@pytest.mark.parametrize(
    ("reason", "is_for_now"),
    [
        (Reason.SOURCE_CHANGED, True),
        (Reason.SOURCE_UNAVAILABLE, True),
        (Reason.SOURCE_FORBIDDEN, False),
        (Reason.ARCHIVED, False),
        (Reason.UNREADABLE_FILE, False),
        (Reason.MISSING_AUDIO, False),
    ],
)
def test_a_file_that_cannot_be_read_has_failed_for_now_or_is_for_the_catalog(
    service: ScriptedService, verify_context: VerifyContext, item: WorkItem, *, reason: Reason, is_for_now: bool
) -> None:
    """Another attempt at the run may read a file that changes; no attempt mends one that is archived."""
    files = Unreadable()
    files.error = SourceError("No luck.", reason=reason)

    done = finished(verify_item(item, replace(verify_context, files=files)))

    expected = Failed(reason=reason, detail="No luck.") if is_for_now else Ineligible(reason, "No luck.")
    assert done.outcome == expected
    assert service.calls == []


def test_a_file_that_this_process_cannot_open_now_has_no_outcome(verify_context: VerifyContext, item: WorkItem) -> None:
    """Too few open files are left: that says nothing about it, and its row remains."""
    files = Unreadable()
    files.error = ResourceShortage("Too many open files.", reason=Reason.SOURCE_UNAVAILABLE)

    assert isinstance(verify_item(item, replace(verify_context, files=files)), Deferred)
