"""What a delivery declares of a file is compared before the service is asked for a verdict."""

from collections.abc import Callable
from dataclasses import replace
from hashlib import new, sha256
from itertools import product
from pathlib import Path

import pytest

from proofsweep.config.threads import StopSwitch
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Declared, WorkItem
from proofsweep.domain.outcomes import Accepted, Deferred, Failed, Finished
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.audio import PIECE_BYTES
from proofsweep.sources.files import Files
from proofsweep.verify import item as steps
from proofsweep.verify.duplicates import DuplicateCache
from proofsweep.verify.item import VerifyContext, verify_item

from ..scripted_service import ScriptedService
from .conftest import append_to, replace_whole

ALL_CALLS = [Call.UPLOADS, Call.SLOT, Call.VERIFY]
WRONG = Declared(digests={"md5": "0" * 32})
LONG = b"RIFF\x24\0\0\0WAVEfmt " + bytes(2 * PIECE_BYTES)


def declared_of(path: Path, algorithm: str = "md5") -> Declared:
    content = path.read_bytes()
    return Declared(size_bytes=len(content), digests={algorithm: new(algorithm, content).hexdigest()})


@pytest.fixture
def item(wav: Path) -> WorkItem:
    """A planned one-file item, with its version and what is declared of it."""
    facts = Files().facts(str(wav))
    assert facts is not None
    version = facts.version
    return WorkItem(manifest_row=7, item_id="a", audio=str(wav), audio_version=version, declared=declared_of(wav))


def finished(done: Finished | Deferred) -> Finished:
    assert isinstance(done, Finished)
    return done


def damaged(done: Finished | Deferred) -> str:
    outcome = finished(done).outcome
    assert isinstance(outcome, Ineligible)
    assert outcome.reason is Reason.DAMAGED_IN_DELIVERY
    return outcome.detail


@pytest.fixture
def sent_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is read before its upload, as no object of a bucket is."""
    monkeypatch.setattr(steps, "READ_FIRST_BYTES", 0)


@pytest.fixture(params=["read first", "sent at once"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "sent at once":
        monkeypatch.setattr(steps, "READ_FIRST_BYTES", 0)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("algorithm", ["md5", "sha256"])
def test_a_file_as_declared_is_verified(
    service: ScriptedService, verify_context: VerifyContext, item: WorkItem, algorithm: str
) -> None:
    """Its row has the sha256 of the bytes that were sent, whatever was declared."""
    path = Path(item.audio)

    done = finished(verify_item(replace(item, declared=declared_of(path, algorithm)), verify_context))

    assert isinstance(done.outcome, Accepted)
    assert service.calls == ALL_CALLS
    assert done.read is not None
    assert done.read.sha256 == sha256(path.read_bytes()).hexdigest()


def test_a_damaged_local_file_costs_no_call(
    service: ScriptedService, verify_context: VerifyContext, item: WorkItem
) -> None:
    """Its row names both digests with their algorithm, or both sizes."""
    size, found = Path(item.audio).stat().st_size, declared_of(Path(item.audio)).digests["md5"]

    digests = damaged(verify_item(replace(item, declared=WRONG), verify_context))
    sizes = damaged(verify_item(replace(item, declared=Declared(size_bytes=size + 1_000)), verify_context))

    assert digests == f"The delivery declares the MD5 {'0' * 32}, and the file has {found}."
    assert sizes == (
        f"The delivery declares a size of {size + 1_000:,}, in bytes or kilobytes, and the file has {size:,} bytes."
    )
    assert service.calls == []


@pytest.mark.usefixtures("sent_at_once")
@pytest.mark.parametrize("algorithm", ["md5", "sha256"])
def test_damage_that_is_seen_while_it_is_sent_stops_before_the_verdict(
    service: ScriptedService, verify_context: VerifyContext, item: WorkItem, algorithm: str
) -> None:
    """One slot is asked for, and its form never ends: the storage target keeps nothing of it."""
    Path(item.audio).write_bytes(LONG)
    wrong = replace(item, audio_version=None, declared=Declared(digests={algorithm: new(algorithm).hexdigest()}))

    done = verify_item(wrong, verify_context)

    assert new(algorithm, LONG).hexdigest() in damaged(done)
    assert Call.VERIFY not in service.calls
    assert service.calls.count(Call.UPLOADS) == 1
    read = finished(done).read
    assert read is not None
    assert read.sha256 is None


def test_no_digest_is_read_of_a_format_that_is_not_sent_but_of_what_is_no_audio_any_more(
    service: ScriptedService, verify_context: VerifyContext, item: WorkItem
) -> None:
    """The digest explains zeros better than the format does; a hundred thousand FLAC files are not read for it."""
    wrong = replace(item, audio_version=None, declared=WRONG)
    Path(item.audio).write_bytes(bytes(4096))
    damaged(verify_item(wrong, verify_context))
    Path(item.audio).write_bytes(b"fLaC" + bytes(64))

    outcome = finished(verify_item(wrong, verify_context)).outcome

    assert isinstance(outcome, Ineligible)
    assert (outcome.reason, service.calls) == (Reason.UNLISTED_FORMAT, [])


@pytest.mark.usefixtures("sent_at_once")
@pytest.mark.parametrize(
    ("change", "declared"),
    [
        *product([append_to, replace_whole, Path.unlink], [WRONG, Declared(digests={"sha256": "0" * 64})]),
        (append_to, None),
    ],
)
def test_a_file_that_changes_while_it_is_sent_is_not_damaged(
    service: ScriptedService,
    verify_context: VerifyContext,
    item: WorkItem,
    change: Callable[[Path], object],
    declared: Declared | None,
) -> None:
    """A delivery that still goes on has another digest than its end will have; none is kept of a part of it."""
    service.on_call = lambda call: call is Call.SLOT and change(Path(item.audio))

    done = finished(verify_item(replace(item, declared=declared), verify_context))

    assert isinstance(done.outcome, Failed)
    assert done.outcome.reason == Reason.SOURCE_CHANGED
    assert done.read is not None
    assert done.read.sha256 is None


@pytest.mark.parametrize("declared", [Declared(size_bytes=7_000), WRONG])
def test_a_file_that_changed_since_it_was_listed_is_not_damaged(
    service: ScriptedService, verify_context: VerifyContext, item: WorkItem, declared: Declared
) -> None:
    """The next listing shows the version that is judged."""
    append_to(Path(item.audio))

    done = finished(verify_item(replace(item, declared=declared), verify_context))

    assert isinstance(done.outcome, Failed)
    assert done.outcome.reason == Reason.SOURCE_CHANGED
    assert service.calls == []


@pytest.mark.usefixtures("either_way")
def test_a_damaged_copy_takes_no_answer_of_the_whole_file(
    service: ScriptedService, verify_context: VerifyContext, item: WorkItem, stop: StopSwitch
) -> None:
    """Neither of a file with the same beginning, nor of the very same bytes under another declaration."""
    path, copy = Path(item.audio), Path(item.audio).with_name("copy.wav")
    path.write_bytes(b"RIFF\x24\0\0\0WAVEfmt " + bytes(PIECE_BYTES))
    copy.write_bytes(path.read_bytes()[:-1] + b"x")
    context = replace(verify_context, duplicates=DuplicateCache(stop))
    whole = replace(item, audio_version=None, declared=declared_of(path))

    first = finished(verify_item(whole, context))
    second = verify_item(replace(whole, manifest_row=8, audio=str(copy)), context)
    third = verify_item(replace(whole, manifest_row=9, declared=WRONG), context)

    assert isinstance(first.outcome, Accepted)
    damaged(second)
    damaged(third)
    assert service.calls == ALL_CALLS
