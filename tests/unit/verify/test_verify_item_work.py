"""What was read and asked for one item is known at its end, whatever failed meanwhile."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from proofsweep.client.stop import StopSwitch
from proofsweep.domain.errors import RunMustStop
from proofsweep.domain.exchanges import Exchange
from proofsweep.domain.items import WorkItem
from proofsweep.domain.outcomes import Accepted, Failed, Finished
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.preflight import SizeLimits
from proofsweep.verify.duplicates import DuplicateCache
from proofsweep.verify.item import ItemWork, VerifyContext, verify_item

from ..scripted_service import NOW, ScriptedService

Begin = Callable[..., ItemWork]


@pytest.fixture
def begin(verify_context: VerifyContext, wav: Path) -> Begin:
    """Begin an item of the small WAV; its cells and those of its context are for the test."""

    def begin(
        sidecar: Path | None = None, record: Callable[[Exchange], None] = lambda _: None, **more: object
    ) -> ItemWork:
        item = WorkItem(manifest_row=7, item_id="a", audio=str(wav), sidecar=None if sidecar is None else str(sidecar))
        return ItemWork(item, replace(verify_context, **more), record)

    return begin


@pytest.fixture
def sidecar(tmp_path: Path) -> Path:
    """A sidecar for it."""
    path = tmp_path / "a.sidecar"
    path.write_bytes(b"proof")
    return path


@pytest.mark.parametrize(("has_sidecar", "reason"), [(False, Reason.TOO_LARGE), (True, None)])
def test_each_mode_has_its_own_limit(begin: Begin, sidecar: Path, *, has_sidecar: bool, reason: Reason | None) -> None:
    """Here that of pairs is wider."""
    work = begin(sidecar if has_sidecar else None, limits=SizeLimits(one_file=20, pair=100))

    with work.open_audio() as audio:
        outcome = work.outcome_without_call(audio)

    assert (None if outcome is None else outcome.reason) == reason
    assert work.sidecar == (b"proof" if has_sidecar else None)


def test_a_clock_that_is_put_back_makes_no_negative_time(begin: Begin) -> None:
    """An item ends no earlier than it began."""
    times = [NOW, NOW - timedelta(hours=1)]
    work = begin(clock=lambda: times.pop(0))

    done = work.finished(Failed(reason="timeout", detail=""))

    assert (done.started_at, done.finished_at) == (NOW, NOW)


def test_an_item_does_not_wait_for_itself(begin: Begin, stop: StopSwitch) -> None:
    """With each fresh slot it is judged again, but the answers of others are looked up once."""
    stop.pull(RunMustStop("A second look-up would wait.", ended_by="cancelled"))
    work = begin(duplicates=DuplicateCache(stop))

    for _ in range(2):
        with work.open_audio() as audio:
            assert work.outcome_without_call(audio) is None


@pytest.mark.parametrize("reason", [Reason.MISSING_AUDIO, Reason.UNREADABLE_FOLDER, Reason.SOURCE_FORBIDDEN])
def test_a_file_that_the_listing_did_not_show_may_be_there_now(
    verify_context: VerifyContext, wav: Path, reason: Reason
) -> None:
    """Its folder or bucket was away when the run was planned."""
    item = WorkItem(manifest_row=0, item_id="a", audio=str(wav), ineligible=Ineligible(reason, "Not there."))

    done = verify_item(item, verify_context)

    assert isinstance(done, Finished)
    assert isinstance(done.outcome, Accepted)


def test_only_the_planned_version_is_sent_where_that_is_asked(
    verify_context: VerifyContext, service: ScriptedService, wav: Path, sidecar: Path
) -> None:
    """A file of a watched folder that changed since it settled may still be written: no call is made for it."""
    files = verify_context.files
    audio, proof = files.facts(str(wav)), files.facts(str(sidecar))
    assert audio is not None
    assert proof is not None
    planned = WorkItem(
        manifest_row=0,
        item_id="a",
        audio=str(wav),
        sidecar=str(sidecar),
        audio_version=audio.version,
        sidecar_version=proof.version,
    )
    strict = replace(verify_context, is_as_planned=True)
    others = [replace(planned, audio_version="v0"), replace(planned, sidecar_version="v0")]

    done = [verify_item(item, strict) for item in others]

    assert [one.outcome.reason for one in done if isinstance(one, Finished) and isinstance(one.outcome, Failed)] == [
        Reason.SOURCE_CHANGED,
        Reason.SOURCE_CHANGED,
    ]
    assert service.calls == []
    accepted = [verify_item(planned, strict), verify_item(others[0], verify_context)]
    assert all(isinstance(one, Finished) and isinstance(one.outcome, Accepted) for one in accepted)
