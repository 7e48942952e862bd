"""Which outcomes are strange, when a control may begin, and what came alike in a row."""

from datetime import UTC, datetime

import pytest

from proofsweep.domain.exchanges import Call, Exchange, Failure
from proofsweep.domain.items import WorkItem
from proofsweep.domain.models import VerifyResponse
from proofsweep.domain.outcomes import Accepted, Answer, Failed, Finished, Outcome, outcome_of
from proofsweep.domain.reasons import Ineligible, Reason, about
from proofsweep.verify.fault import REFUSALS_IN_A_ROW, Doubt, Schedule, Streaks, doubt_about

from ..left_behind import exchange

NOW = datetime(2026, 11, 20, tzinfo=UTC)
ACCEPTED = Accepted(Answer(VerifyResponse(good=True, verdict="valid"), "d"))
FAILED = Failed(reason="timeout", detail="")


def rejected(verdict: str = "tampered") -> Outcome:
    """Reject an item."""
    return outcome_of(Answer(VerifyResponse(good=False, verdict=verdict), "d"))


def failed(reason: str = "timeout") -> Failed:
    """Fail an item."""
    return Failed(reason=reason, detail="")


def done(outcome: Outcome, *exchanges: Exchange, audio: str = "/a.wav", sidecar: str | None = None) -> Finished:
    """End an item."""
    item = WorkItem(manifest_row=0, item_id="a", audio=audio, sidecar=sidecar)
    return Finished(item=item, outcome=outcome, started_at=NOW, finished_at=NOW, exchanges=exchanges)


DAMAGED = Reason.DAMAGED_IN_DELIVERY
OF_SOURCES = {reason for reason in Reason if about(reason).may_be_outage}
OK = exchange(Call.UPLOADS, 200)
TABLE = [
    # An acceptance is never strange, nor is what the catalog or the file itself shows.
    (done(ACCEPTED, OK), None),
    *((done(Ineligible(reason, "")), None) for reason in Reason if reason not in OF_SOURCES | {DAMAGED}),
    (done(failed(Reason.SOURCE_CHANGED), OK), None),
    # A file that cannot be read may show that its whole source is away; a proof has no file.
    *((done(Ineligible(reason, "")), Doubt.SOURCE) for reason in sorted(OF_SOURCES)),
    (done(Ineligible(Reason.UNREADABLE_FOLDER, ""), audio=""), None),
    (done(failed(Reason.SOURCE_UNAVAILABLE)), Doubt.SOURCE),
    (done(failed(Reason.SOURCE_UNAVAILABLE), OK), Doubt.SOURCE),
    (done(failed(Reason.SOURCE_UNAVAILABLE), exchange(Call.ASSET, 503), audio="proof:p"), Doubt.SERVICE),
    # The key is refused.
    (done(FAILED, exchange(Call.UPLOADS, 403)), Doubt.KEY),
    (done(FAILED, OK, exchange(Call.VERIFY, 403)), Doubt.KEY),
    # A 403 of the storage target is a spent slot.
    (done(FAILED, OK, exchange(Call.SLOT, 403)), Doubt.SERVICE),
    # Large files may take too long.
    (done(FAILED, OK, exchange(Call.SLOT, None, Failure.TIMEOUT)), Doubt.SIZE),
    (done(FAILED, OK, exchange(Call.VERIFY, None, Failure.TIMEOUT)), Doubt.SIZE),
    (done(FAILED, exchange(Call.UPLOADS, None, Failure.TIMEOUT)), Doubt.SERVICE),
    # The service, or the way to it, is down.
    (done(FAILED), Doubt.SERVICE),
    (done(FAILED, exchange(Call.UPLOADS, 500)), Doubt.SERVICE),
    (done(FAILED, exchange(Call.UPLOADS, 404)), Doubt.SERVICE),
    (done(FAILED, OK, exchange(Call.SLOT, 503)), Doubt.SERVICE),
    (done(FAILED, OK, exchange(Call.SLOT, 413)), Doubt.SERVICE),
    (done(FAILED, OK, exchange(Call.SLOT, None, Failure.CONNECTION)), Doubt.SERVICE),
    (done(FAILED, OK, exchange(Call.VERIFY, 500)), Doubt.SERVICE),
    (done(FAILED, OK, exchange(Call.VERIFY, None, Failure.CONNECTION)), Doubt.SERVICE),
    (done(FAILED, OK, exchange(Call.VERIFY, 200, Failure.BAD_ANSWER)), Doubt.SERVICE),
    # The service speaks of what was sent.
    (done(FAILED, OK, exchange(Call.VERIFY, 400)), Doubt.CONTENT),
    (done(FAILED, OK, exchange(Call.VERIFY, 404)), Doubt.CONTENT),
    (done(FAILED, OK, exchange(Call.VERIFY, 413)), Doubt.CONTENT),
    (done(FAILED, OK, exchange(Call.VERIFY, 422)), Doubt.CONTENT),
    # A proof that is not known is an answer.
    (done(FAILED, exchange(Call.ASSET, 404), audio="proof:p"), None),
]


@pytest.mark.parametrize(("finished", "doubt"), TABLE)
def test_what_makes_which_thing_doubtful(finished: Finished, doubt: Doubt | None) -> None:
    """One row, one rule; the comments in the table say which."""
    assert doubt_about(finished, was_accepted=False, refusals_alike=0) is doubt
    assert doubt_about(finished, was_accepted=True, refusals_alike=REFUSALS_IN_A_ROW) is doubt


@pytest.mark.parametrize(
    ("was_accepted", "refusals_alike", "doubt"),
    [
        (False, 1, None),
        (False, REFUSALS_IN_A_ROW - 1, None),
        (False, REFUSALS_IN_A_ROW, Doubt.CONTENT),
        (True, 1, Doubt.CONTENT),
    ],
)
def test_a_refusal_is_strange_for_bytes_that_were_accepted_or_if_all_are_refused(
    was_accepted: bool, refusals_alike: int, doubt: Doubt | None
) -> None:
    """One among accepted files is an answer like any other."""
    assert doubt_about(done(rejected(), OK), was_accepted=was_accepted, refusals_alike=refusals_alike) is doubt


@pytest.mark.parametrize(
    ("damaged_alike", "doubt"), [(1, None), (REFUSALS_IN_A_ROW - 1, None), (REFUSALS_IN_A_ROW, Doubt.BYTES)]
)
def test_damage_is_strange_if_all_files_have_it(damaged_alike: int, doubt: Doubt | None) -> None:
    """Some files break on their way; all of them break where another folder is mounted, or one that gives zeros."""
    assert doubt_about(done(Ineligible(DAMAGED, "")), was_accepted=False, refusals_alike=damaged_alike) is doubt


def test_damaged_files_are_counted_in_a_row() -> None:
    """Any answer, also a failure, shows that bytes were as declared; a row of the catalog says nothing of bytes."""
    streaks, damaged = Streaks(), Ineligible(DAMAGED, "")
    outcomes = [damaged, damaged, Ineligible(Reason.EMPTY, ""), damaged, ACCEPTED, damaged, FAILED, damaged]

    assert [streaks.note(done(outcome)) for outcome in outcomes] == [1, 2, 0, 3, 0, 1, 0, 1]


def test_the_first_control_goes_at_once_and_the_waits_after_it_double() -> None:
    """Up to six times the first wait, for ever."""
    schedule, now, waits = Schedule(first_wait_seconds=10.0), 1_000.0, []
    is_due = schedule.due_at < now

    for _ in range(7):
        schedule.began(now)
        waits.append(schedule.due_at - now)
        now = schedule.due_at

    assert is_due
    assert waits == [10.0, 20.0, 40.0, 60.0, 60.0, 60.0, 60.0]


def test_refusals_alike_are_counted_in_a_row() -> None:
    """Another verdict begins a new row; an accepted item ends it."""
    streaks = Streaks()
    outcomes = [rejected(), rejected(), rejected("unregistered"), rejected("unregistered"), ACCEPTED, rejected()]

    assert [streaks.note(done(outcome)) for outcome in outcomes] == [1, 2, 1, 2, 0, 1]


def test_what_is_no_answer_ends_no_row_of_refusals() -> None:
    """A failure and a row of the catalog say nothing of what the service would have answered."""
    streaks = Streaks()
    outcomes = [rejected(), FAILED, Ineligible(Reason.EMPTY, ""), rejected()]

    assert [streaks.note(done(outcome)) for outcome in outcomes] == [1, 0, 0, 2]


def test_each_mode_is_counted_by_itself() -> None:
    """The sidecar's wire name is wrong for pairs alone."""
    streaks = Streaks()

    for _ in range(2):
        streaks.note(done(FAILED, sidecar="/a.proof"))
        streaks.note(done(ACCEPTED))
    refusals = [streaks.note(done(rejected(), sidecar=sidecar)) for sidecar in ("/a.proof", None, "/a.proof")]

    assert refusals == [1, 1, 2]
