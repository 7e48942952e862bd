"""The core flow of one item: slot, form POST, verify; and every way in which it may end is a value."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from hashlib import new, sha256
from itertools import product
from pathlib import Path

import httpx
import pytest

from proofsweep.client.client import Partner
from proofsweep.config.threads import StopSwitch
from proofsweep.domain.errors import SourceError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Declared, FileFacts, WorkItem
from proofsweep.domain.outcomes import Accepted, AudioRead, Deferred, Failed, Finished, Rejected, word_for
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.files.audio import PIECE_BYTES
from proofsweep.files.files import BUCKET, Files
from proofsweep.verify import item as steps
from proofsweep.verify.duplicates import DuplicateCache
from proofsweep.verify.item import AssetFile, verify_item

from ..scripted_service import Scripted, ScriptedService
from .conftest import ClosedFiles, Trial, append_to, replace_whole

REJECTED = Scripted(document={"good": False, "verdict": "unreadable"})
THREE_CALLS = [Call.UPLOADS, Call.SLOT, Call.VERIFY]
WRONG = Declared(digests={"md5": "0" * 32})
WAV = b"RIFF\x2c\0\0\0WAVEfmt " + bytes(5_000)
PROOF = WorkItem(manifest_row=0, item_id="item", audio="proof:p/1")
LINK = Scripted(document={"url": "https://assets.example/a?sig=SECRET", "expiresAt": 7})
FLOW = [Call.ASSET, Call.DOWNLOAD, *THREE_CALLS]
LONG = b"RIFF\x24\0\0\0WAVEfmt " + bytes(3 * PIECE_BYTES)


def read_of(done: Finished) -> AudioRead:
    assert done.read is not None
    return done.read


def reason_of(done: Finished) -> tuple[str, str | None]:
    return word_for(done.outcome), None if isinstance(done.outcome, Accepted) else str(done.outcome.reason)


def test_a_refused_upload_fails_its_item_alone_and_leaves_no_digest(trial: Trial) -> None:
    """The target refuses halfway: neither the audio's part nor the sidecar was sent, and verify is not called."""
    trial.path.write_bytes(LONG)
    trial.service.script[Call.SLOT] = [Scripted(status=413)]
    trial.service.slot_pieces = 2  # of four

    done = trial.finished(trial.with_sidecar())

    assert PIECE_BYTES < len(trial.service.uploads[0]) < 3 * PIECE_BYTES
    assert reason_of(done) == ("failed", Reason.SLOT_REFUSED)
    assert Call.VERIFY not in trial.service.calls
    read = read_of(done)
    assert (read.audio_format, read.sha256, read.sidecar_sha256) == ("wav", None, None)


@pytest.mark.parametrize("reason", [Reason.MISSING_AUDIO, Reason.UNREADABLE_FILE, Reason.SOURCE_FORBIDDEN])
def test_a_file_that_the_listing_did_not_show_may_be_there_now(trial: Trial, reason: Reason) -> None:
    """Its folder or bucket was away when the run was planned."""
    unseen = replace(trial.item, ineligible=Ineligible(reason, "Not there."))

    assert isinstance(trial.finished(unseen).outcome, Accepted)


@pytest.mark.parametrize(
    ("reason", "facts"), [(Reason.MISSING_AUDIO, {"audio": "/nowhere.wav"}), (Reason.UNREADABLE_FOLDER, {})]
)
def test_what_is_still_missing_or_in_an_unreadable_folder_has_the_words_of_its_plan(
    trial: Trial, reason: Reason, facts: dict[str, str]
) -> None:
    """They say what names a file: a line, a message or a bag. In such a folder nobody knows whether a sidecar lies."""
    planned = Ineligible(reason, "m.csv, line 2: It cannot be sent.")

    assert trial.finished(replace(trial.item, ineligible=planned, **facts)).outcome == planned
    assert trial.service.calls == []


def test_only_the_planned_version_is_sent_where_that_is_asked(trial: Trial) -> None:
    """A file of a watched folder that changed since it settled may still be written: no call is made for it."""
    pair = trial.with_sidecar()
    audio, proof = (trial.version_of(location) for location in (pair.audio, str(pair.sidecar)))
    planned = replace(pair, audio_version=audio, sidecar_version=proof)
    others = [replace(planned, audio_version="v0"), replace(planned, sidecar_version="v0")]

    done = [trial.finished(other, is_as_planned=True) for other in others]

    assert [reason_of(one) for one in done] == [("failed", Reason.SOURCE_CHANGED)] * 2
    assert trial.service.calls == []
    assert isinstance(trial.finished(planned, is_as_planned=True).outcome, Accepted)
    assert isinstance(trial.finished(others[0]).outcome, Accepted)


@pytest.mark.parametrize(
    ("which", "when", "change"),
    [
        *product(["audio"], [Call.SLOT, Call.VERIFY], [append_to, replace_whole, Path.unlink]),
        ("sidecar", Call.VERIFY, append_to),
    ],
)
def test_a_rejected_file_that_changed_meanwhile_has_failed_for_now(
    trial: Trial, which: str, when: Call, change: Callable[[Path], None]
) -> None:
    """A part of a delivery, of which the sidecar may come last, says nothing: nobody is told to reject it."""
    pair = trial.with_sidecar()
    trial.service.usual[Call.VERIFY] = REJECTED
    trial.service.on_answer = lambda call: call is when and change(Path(getattr(pair, which)))
    sent = sha256(trial.path.read_bytes()).hexdigest()

    done = trial.finished(pair)

    assert (*reason_of(done), read_of(done).sha256) == ("failed", Reason.SOURCE_CHANGED, sent)


def test_an_acceptance_counts_for_the_bytes_that_were_sent(trial: Trial) -> None:
    """What came after them is another version, and the row names the one that was accepted."""
    trial.service.on_answer = lambda call: call is Call.VERIFY and append_to(trial.path)
    sent = trial.version_of(trial.item.audio)

    done = trial.finished()

    assert isinstance(done.outcome, Accepted)
    assert read_of(done).version == sent


def test_a_rejection_stands_where_the_file_cannot_be_compared(trial: Trial) -> None:
    """The service has answered; a source that is away now takes nothing from it."""

    class Away(Files):
        def facts(self, location: str) -> FileFacts | None:
            raise SourceError(f"{location} is away.", reason=Reason.SOURCE_UNAVAILABLE)

    trial.service.usual[Call.VERIFY] = REJECTED

    assert isinstance(trial.finished(files=Away()).outcome, Rejected)


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        *product([Reason.SOURCE_CHANGED, Reason.SOURCE_UNAVAILABLE], ["failed"]),
        *product([Reason.SOURCE_FORBIDDEN, Reason.ARCHIVED], ["ineligible"]),
        *product([Reason.UNREADABLE_FILE, Reason.MISSING_AUDIO], ["ineligible"]),
    ],
)
def test_a_file_that_cannot_be_read_has_failed_for_now_or_is_for_the_catalog(
    trial: Trial, *, reason: Reason, word: str
) -> None:
    """Another attempt at the run may read a file that changes; no attempt mends one that is archived."""
    done = trial.finished(files=ClosedFiles(SourceError("No luck.", reason=reason)))

    assert reason_of(done) == (word, reason)
    assert isinstance(done.outcome, Failed | Ineligible)
    assert done.outcome.detail == "No luck."
    assert trial.service.calls == []


@pytest.mark.parametrize("call", [Call.UPLOADS, Call.SLOT, Call.VERIFY])
def test_a_file_for_which_no_connection_can_be_opened_here_has_no_outcome(trial: Trial, call: Call) -> None:
    """The call is tried as often as any; too few open files or ports say nothing about the file."""
    trial.service.usual[call] = Scripted(status=None, is_shortage=True)

    assert isinstance(verify_item(trial.item, trial.context), Deferred)
    assert trial.service.calls.count(call) > 1


def declared_of(path: Path, algorithm: str = "md5") -> Declared:
    content = path.read_bytes()
    return Declared(size_bytes=len(content), digests={algorithm: new(algorithm, content).hexdigest()})


def damage_of(done: Finished) -> str:
    assert reason_of(done) == ("ineligible", Reason.DAMAGED_IN_DELIVERY)
    assert isinstance(done.outcome, Ineligible)
    return done.outcome.detail


@pytest.fixture
def sent_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is read before its upload, as no object of a bucket is."""
    monkeypatch.setattr(steps, "kind_of", lambda _location: BUCKET)


@pytest.fixture(params=["read first", "sent at once"])
def either_way(request: pytest.FixtureRequest) -> None:
    if request.param == "sent at once":
        request.getfixturevalue("sent_at_once")


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("algorithm", ["md5", "sha256"])
def test_a_file_as_declared_is_verified(trial: Trial, algorithm: str) -> None:
    """Its row has the sha256 of the bytes that were sent, whatever was declared."""
    done = trial.finished(replace(trial.item, declared=declared_of(trial.path, algorithm)))

    assert isinstance(done.outcome, Accepted)
    assert trial.service.calls == THREE_CALLS
    assert read_of(done).sha256 == sha256(trial.path.read_bytes()).hexdigest()


def test_a_damaged_local_file_costs_no_call(trial: Trial) -> None:
    """Its row names both digests with their algorithm, or both sizes."""
    size, found = trial.path.stat().st_size, declared_of(trial.path).digests["md5"]

    digests = trial.finished(replace(trial.item, declared=WRONG))
    sizes = trial.finished(replace(trial.item, declared=Declared(size_bytes=size + 1_000)))

    assert damage_of(digests) == f"The delivery declares the MD5 {'0' * 32}, and the file has {found}."
    assert damage_of(sizes) == (
        f"The delivery declares a size of {size + 1_000:,}, in bytes or kilobytes, and the file has {size:,} bytes."
    )
    assert trial.service.calls == []


@pytest.mark.usefixtures("sent_at_once")
@pytest.mark.parametrize("algorithm", ["md5", "sha256"])
def test_damage_that_is_seen_while_it_is_sent_stops_before_the_verdict(trial: Trial, algorithm: str) -> None:
    """One slot is asked for, and its form never ends: the storage target keeps nothing of it."""
    trial.path.write_bytes(LONG)

    done = trial.finished(replace(trial.item, declared=Declared(digests={algorithm: new(algorithm).hexdigest()})))

    assert new(algorithm, LONG).hexdigest() in damage_of(done)
    assert Call.VERIFY not in trial.service.calls
    assert trial.service.calls.count(Call.UPLOADS) == 1
    assert read_of(done).sha256 is None


def test_no_digest_is_read_of_a_format_that_is_not_sent_but_of_what_is_no_audio_any_more(trial: Trial) -> None:
    """The digest explains zeros better than the format does; a hundred thousand FLAC files are not read for it."""
    reasons = []
    for content in (bytes(4096), b"fLaC" + bytes(64)):
        trial.path.write_bytes(content)
        reasons.append(reason_of(trial.finished(replace(trial.item, declared=WRONG)))[1])

    assert (reasons, trial.service.calls) == ([Reason.DAMAGED_IN_DELIVERY, Reason.UNLISTED_FORMAT], [])


@pytest.mark.usefixtures("sent_at_once")
@pytest.mark.parametrize(
    ("change", "declared"),
    [
        *product([append_to, replace_whole, Path.unlink], [WRONG, Declared(digests={"sha256": "0" * 64})]),
        (append_to, None),
    ],
)
def test_a_file_that_changes_while_it_is_sent_is_not_damaged(
    trial: Trial, change: Callable[[Path], object], declared: Declared | None
) -> None:
    """A delivery that still goes on has another digest than its end will have; none is kept of a part of it."""
    trial.service.on_call = lambda call: call is Call.SLOT and change(trial.path)

    done = trial.finished(replace(trial.item, declared=declared))

    assert (*reason_of(done), read_of(done).sha256) == ("failed", Reason.SOURCE_CHANGED, None)


@pytest.mark.parametrize("declared", [Declared(size_bytes=7_000), WRONG])
def test_a_file_that_changed_since_it_was_listed_is_not_damaged(trial: Trial, declared: Declared) -> None:
    """The next listing shows the version that is judged."""
    done = trial.finished(replace(trial.item, audio_version="v0", declared=declared))

    assert reason_of(done) == ("failed", Reason.SOURCE_CHANGED)
    assert trial.service.calls == []


@pytest.mark.usefixtures("either_way")
def test_a_damaged_copy_takes_no_answer_of_the_whole_file(trial: Trial, stop: StopSwitch) -> None:
    """Neither of a file with the same beginning, nor of the very same bytes under another declaration."""
    path, copy = trial.path, trial.path.with_name("copy.wav")
    path.write_bytes(LONG)
    copy.write_bytes(LONG[:-1] + b"x")
    trial.context = replace(trial.context, duplicates=DuplicateCache(stop))
    whole = replace(trial.item, declared=declared_of(path))

    first = trial.finished(whole)
    second = trial.finished(replace(whole, manifest_row=8, audio=str(copy)))
    third = trial.finished(replace(whole, manifest_row=9, declared=WRONG))

    assert isinstance(first.outcome, Accepted)
    assert damage_of(second)
    assert damage_of(third)
    assert trial.service.calls == THREE_CALLS


@pytest.fixture
def asset(service: ScriptedService) -> None:
    """A proof whose asset is a WAV."""
    service.usual |= {Call.ASSET: LINK, Call.DOWNLOAD: Scripted()}
    service.download = lambda: [WAV]


@pytest.mark.usefixtures("asset")
@pytest.mark.parametrize(
    ("pieces", "reason"), [([WAV, WAV], "too_large"), ([b"fLaC" + bytes(5_000)], "unlisted_format")]
)
def test_a_proof_whose_asset_cannot_be_sent_is_ineligible(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, pieces: list[bytes], reason: str
) -> None:
    """Without a Content-Length nobody knows its size before. No slot is asked for."""
    trial.service.download = lambda: pieces
    monkeypatch.setattr("proofsweep.verify.item.SLOT_BYTES", len(WAV))

    outcome = trial.finished(PROOF).outcome

    assert isinstance(outcome, Ineligible)
    assert (outcome.reason, trial.service.calls) == (reason, FLOW[:2])


@pytest.mark.usefixtures("asset")
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
    trial: Trial, members: object, field: str | None, expected: str | None
) -> None:
    """The contract does not show its name; without TLS it is no URL."""
    trial.service.script[Call.ASSET] = [Scripted(document=members)]
    session = trial.context.partner.session
    settings = session.context.service.model_copy(update={"asset_field": field})
    named = Partner(replace(session, context=replace(session.context, service=settings)))

    outcome = trial.finished(PROOF, partner=named).outcome

    assert (outcome.reason if isinstance(outcome, Failed) else None) == expected


@pytest.mark.usefixtures("asset")
def test_a_download_that_breaks_off_begins_again(trial: Trial) -> None:
    """From the same URL, of which nothing is kept, as often as any call is repeated; then the row has failed."""

    def broken() -> Iterator[bytes]:
        yield WAV
        raise httpx.ReadError("gone")

    pieces: list[Iterable[bytes]] = [broken(), [WAV]]
    trial.service.download = lambda: pieces.pop(0) if pieces else broken()
    done = trial.finished(PROOF)

    assert isinstance(done.outcome, Accepted)
    read = read_of(done)
    assert (read.size_bytes, read.sha256) == (len(WAV), sha256(WAV).hexdigest()), "what broke off has left nothing"
    assert (read.audio_format, read.version, "SECRET" in repr(done)) == ("wav", None, False)
    assert trial.service.calls == [Call.ASSET, Call.DOWNLOAD, *FLOW[1:]]
    outcome = trial.finished(PROOF).outcome

    assert isinstance(outcome, Failed)
    assert (outcome.reason, trial.service.uploads[1:]) == ("bad_answer", [])


def test_a_file_has_no_name_and_a_body_beyond_the_bound_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So nothing is left of it, even if the process is killed; and a body may be endless."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("proofsweep.verify.item.SLOT_BYTES", 10)
    body = iter([b"123456"] * 9)

    with AssetFile() as file:
        file.add([b"abc"])
        assert file.read_at(0, 10) == b"abc"
        assert list(tmp_path.iterdir()) == []
        file.add(body)

    assert isinstance(file.error, SourceError)
    assert (file.error.reason, len(list(body))) == ("too_large", 7)


@pytest.mark.parametrize("which", ["audio", "sidecar"])
def test_a_rejection_of_what_was_withdrawn_meanwhile_does_not_stand(trial: Trial, which: str) -> None:
    """A delivery was corrected while the service looked into it: no supplier is told of bytes that are gone."""
    pair = trial.with_sidecar()
    trial.service.usual[Call.VERIFY] = Scripted(document={"good": False, "verdict": "audioChanged"})
    trial.service.on_answer = lambda call: call is Call.VERIFY and Path(str(getattr(pair, which))).unlink()

    assert reason_of(trial.finished(pair)) == ("failed", Reason.SOURCE_CHANGED)
