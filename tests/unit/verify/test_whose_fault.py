"""Which outcomes are strange, and that these are written down exactly if the control beside them comes out right."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from proofsweep.client.call_queue import FAILURES_IN_A_ROW, CallQueue, ServiceHealth
from proofsweep.client.pacer import Pacer
from proofsweep.client.scheduler import Dispatcher
from proofsweep.client.stop import StopSwitch
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError, RunMustStop
from proofsweep.domain.exchanges import Call, Exchange, Failure
from proofsweep.domain.items import Mode, Row, WorkItem
from proofsweep.domain.models import VerifyResponse
from proofsweep.domain.outcomes import Accepted, Answer, AudioRead, Failed, Finished, Outcome, outcome_of
from proofsweep.domain.reasons import Ineligible, Reason, about
from proofsweep.store.known_rows import PastAnswers
from proofsweep.verify.attribution import Control
from proofsweep.verify.fault import (
    REFUSALS_IN_A_ROW,
    TRIES_IN_A_ROW,
    ControlFinding,
    Doubt,
    Schedule,
    Streaks,
    Subject,
    doubt_about,
)
from proofsweep.verify.probes import ControlCalls, KnownFiles, Result

from ..left_behind import exchange
from ..scripted_service import NOW

ACCEPTED = Accepted(Answer(VerifyResponse(good=True, verdict="valid"), "d"))
FAILED = Failed(reason="http_500", detail="")
CHANGED, UNAVAILABLE = (
    Failed(reason=reason, detail="") for reason in (Reason.SOURCE_CHANGED, Reason.SOURCE_UNAVAILABLE)
)
DAMAGED, MISSING, EMPTY = (
    Ineligible(reason, "") for reason in (Reason.DAMAGED_IN_DELIVERY, Reason.MISSING_AUDIO, Reason.EMPTY)
)
OF_SOURCES = [reason for reason in Reason if about(reason).may_be_outage]
OF_FILES = [reason for reason in Reason if reason not in {*OF_SOURCES, Reason.DAMAGED_IN_DELIVERY}]
OK, DOWN, UNFIT, NO_KEY = (
    exchange(Call.UPLOADS, 200),
    exchange(Call.VERIFY, 500),
    exchange(Call.VERIFY, 422),
    exchange(Call.UPLOADS, 403),
)
SLOW = exchange(Call.SLOT, None, Failure.TIMEOUT)
RIGHT, NOT_NOW, NO_CONTROL = (
    Result(finding=finding) for finding in (ControlFinding.RIGHT, ControlFinding.NOT_NOW, ControlFinding.NO_CONTROL)
)


def rejected(verdict: str = "tampered") -> Outcome:
    return outcome_of(Answer(VerifyResponse(good=False, verdict=verdict), "d"))


def done(outcome: Outcome, *exchanges: Exchange, audio: str = "/a.wav", sidecar: str | None = None) -> Finished:
    item = WorkItem(manifest_row=0, item_id="a", audio=audio, sidecar=sidecar)
    return Finished(item=item, outcome=outcome, started_at=NOW, finished_at=NOW, exchanges=exchanges)


STRANGE = [
    # An acceptance is never strange, nor is what the catalog or the file itself shows.
    (done(ACCEPTED, OK), None),
    *((done(Ineligible(reason, "")), None) for reason in OF_FILES),
    (done(CHANGED, OK), None),
    # A file that cannot be read may show that its whole source is away; a proof has no file.
    *((done(Ineligible(reason, "")), Doubt.SOURCE) for reason in OF_SOURCES),
    (done(Ineligible(Reason.UNREADABLE_FOLDER, ""), audio=""), None),
    (done(UNAVAILABLE), Doubt.SOURCE),
    (done(UNAVAILABLE, OK), Doubt.SOURCE),
    (done(UNAVAILABLE, exchange(Call.ASSET, 503), audio="proof:p"), Doubt.SERVICE),
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
    *((done(FAILED, OK, exchange(Call.VERIFY, status)), Doubt.CONTENT) for status in (400, 404, 413, 422)),
    # A proof that is not known is an answer.
    (done(FAILED, exchange(Call.ASSET, 404), audio="proof:p"), None),
]


@pytest.mark.parametrize(("finished", "doubt"), STRANGE)
def test_what_makes_which_thing_doubtful(finished: Finished, doubt: Doubt | None) -> None:
    """One row, one rule; the comments in the table say which."""
    assert doubt_about(finished, was_accepted=False, refusals_alike=0) is doubt
    assert doubt_about(finished, was_accepted=True, refusals_alike=REFUSALS_IN_A_ROW) is doubt


@pytest.mark.parametrize(
    ("outcome", "was_accepted", "alike", "doubt"),
    [
        (rejected(), False, 1, None),
        (rejected(), False, REFUSALS_IN_A_ROW - 1, None),
        (rejected(), False, REFUSALS_IN_A_ROW, Doubt.CONTENT),
        (rejected(), True, 1, Doubt.CONTENT),
        (DAMAGED, False, REFUSALS_IN_A_ROW - 1, None),
        (DAMAGED, False, REFUSALS_IN_A_ROW, Doubt.BYTES),
    ],
)
def test_a_refusal_is_strange_for_bytes_that_were_accepted_or_if_all_are_refused(
    outcome: Outcome, *, was_accepted: bool, alike: int, doubt: Doubt | None
) -> None:
    """One among accepted files is an answer like any other; and so some files break on their way."""
    assert doubt_about(done(outcome, OK), was_accepted=was_accepted, refusals_alike=alike) is doubt


@pytest.mark.parametrize(
    ("outcomes", "alike"),
    [
        # Any answer, also a failure, shows that bytes were as declared; a row of the catalog says nothing of bytes.
        (
            [DAMAGED, DAMAGED, EMPTY, DAMAGED, ACCEPTED, DAMAGED, FAILED, DAMAGED],
            [1, 2, 0, 3, 0, 1, 0, 1],
        ),
        # Another verdict begins a new row; an accepted item ends it.
        (
            [rejected(), rejected(), rejected("unregistered"), rejected("unregistered"), ACCEPTED, rejected()],
            [1, 2, 1, 2, 0, 1],
        ),
        # What is no answer ends no row.
        ([rejected(), FAILED, EMPTY, rejected()], [1, 0, 0, 2]),
    ],
)
def test_what_came_alike_in_a_row_is_counted(outcomes: list[Outcome], alike: list[int]) -> None:
    """Refusals with one verdict, and damaged files."""
    streaks = Streaks()

    assert [streaks.note(done(outcome)) for outcome in outcomes] == alike


def test_each_mode_is_counted_by_itself() -> None:
    """The sidecar's wire name is wrong for pairs alone."""
    streaks = Streaks()

    for _ in range(2):
        streaks.note(done(FAILED, sidecar="/a.proof"))
        streaks.note(done(ACCEPTED))

    assert [streaks.note(done(rejected(), sidecar=sidecar)) for sidecar in ("/a.proof", None, "/a.proof")] == [1, 1, 2]


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


def wrong(why: str = "It is down.", ended_by: EndedBy = EndedBy.BREAKER) -> Result:
    return Result(finding=ControlFinding.WRONG, why=why, ended_by=ended_by)


@dataclass
class World:
    """Time that a test moves, and what happened in it."""

    now: float = 1_000.0  # monotonic seconds; a rest moves them too
    controls: list[Result] = field(default_factory=lambda: [RIGHT])  # how they come out; the last one for ever
    made: list[tuple[float, Subject, int]] = field(default_factory=list)  # when, of what, with how many suspects
    held: list[bool] = field(default_factory=list)  # whether the lane was held when each of them was made
    during: Callable[[], object] = lambda: None  # called while a control is made
    written: list[int] = field(default_factory=list)
    errors: int = 0  # of the store of results, before it answers
    was_accepted: bool = False  # whether any bytes were accepted before
    forgotten: int = 0  # how often answers were
    rows: int = 0

    def __post_init__(self) -> None:
        self.stop = MovingSwitch(self)
        self.dispatcher = Dispatcher(
            CallQueue(Pacer(first_rate=1e6)), ServiceHealth(), self.stop, clock=lambda: self.now
        )
        self.control = Control(
            calls=ScriptedCalls(self),
            dispatcher=self.dispatcher,
            stop=self.stop,
            mode=Mode.ONE_FILE,
            outage_seconds=60.0,
        )

    def write(self, done: Finished, row: Row) -> None:
        assert row["manifest_row"] == done.item.manifest_row
        self.written.append(done.item.manifest_row)

    def forget(self) -> None:
        self.forgotten += 1

    def fail_at_times(self) -> None:
        if self.errors:
            self.errors -= 1
            raise ResultsError("The store is away.")

    def admit(
        self,
        outcome: Outcome,
        *exchanges: Exchange,
        began_at: float | None = None,
        audio: str = "/c/a.wav",
        size: int = 8,
    ) -> bool:
        item = WorkItem(manifest_row=self.rows, item_id="a", audio=audio)
        read = AudioRead(audio_format="wav", size_bytes=size, version="v", sha256="d")
        done = Finished(item=item, outcome=outcome, started_at=NOW, finished_at=NOW, read=read, exchanges=exchanges)
        self.rows += 1
        began_at = self.now if began_at is None else began_at
        return self.control.admit(done, {"manifest_row": item.manifest_row}, began_at)

    def fail(self, last: Exchange = DOWN, *, began_at: float | None = None, size: int = 8) -> bool:
        return self.admit(FAILED, last, began_at=began_at, size=size)

    @property
    def put_aside(self) -> set[int]:
        return self.control.put_aside

    @property
    def is_held(self) -> bool:
        return self.dispatcher.status().is_outage

    @property
    def ended_by(self) -> str | None:
        return None if self.stop.reason is None else self.stop.reason.ended_by

    @property
    def doubts(self) -> list[Doubt]:
        return [subject.doubt for _, subject, _ in self.made]


class MovingSwitch(StopSwitch):
    """A switch whose rests take no time but the test's."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    def rest(self, seconds: float) -> None:
        if self.reason is None:
            self.world.now += max(0.0, seconds)
        self.check()


class KnownPast(PastAnswers):
    """What earlier runs left behind, as the test says."""

    def __init__(self, world: World) -> None:
        self.world = world

    def was_accepted(self, *_: object) -> bool:
        self.world.fail_at_times()
        return self.world.was_accepted


class ScriptedCalls(ControlCalls):
    """Controls that come out as the test says."""

    def __init__(self, world: World) -> None:
        self.world = world
        leg: Any = SimpleNamespace(write=world.write, duplicates=SimpleNamespace(forget=world.forget))
        super().__init__(leg, leg, KnownFiles("/c", KnownPast(world)))

    def make(self, subject: Subject, suspects: Sequence[Finished]) -> Result:
        world = self.world
        world.fail_at_times()
        world.made.append((world.now, subject, len(suspects)))
        world.held.append(world.is_held)
        world.during()
        return world.controls.pop(0) if len(world.controls) > 1 else world.controls[0]


@pytest.fixture
def world() -> World:
    return World()


def test_one_right_control_decides_about_all_that_failed_before_it(world: World) -> None:
    """However many: the first goes at once, and the next waits until it is due."""
    assert not world.fail()
    world.now += 1.0
    for _ in range(50):
        world.fail()
    before, aside = list(world.written), set(world.put_aside)

    world.now += 10.0
    world.fail()

    assert (before, aside) == ([0], set(range(1, 51)))
    assert (sorted(world.written), world.put_aside) == (list(range(52)), set())
    assert world.doubts == [Doubt.SERVICE] * 2


@pytest.mark.parametrize("ended_by", [EndedBy.KEY_REFUSED, EndedBy.BREAKER])
def test_wrong_controls_end_the_leg_as_they_show(world: World, ended_by: EndedBy) -> None:
    """No row is written, only controls go meanwhile, and their waits double until `outage_seconds` are over."""
    world.controls = [wrong("It is so.", ended_by)]

    assert not world.fail()

    assert (world.written, world.put_aside) == ([], {0})
    assert world.stop.reason is not None
    assert (world.stop.reason.message, world.ended_by) == ("It is so.", ended_by)
    assert [when for when, *_ in world.made] == [1_000.0, 1_010.0, 1_030.0, 1_060.0]
    assert world.held == [False, True, True, True]


@pytest.mark.parametrize(
    ("result", "held"), [(RIGHT, [True, False]), (NOT_NOW, [True, False]), (wrong(), [True, True, False])]
)
def test_no_call_goes_while_a_control_of_the_key_is_made(world: World, result: Result, held: list[bool]) -> None:
    """A refused key is refused for each call. Calls go again if it was the item's fault, or nothing showed whose."""
    world.controls = [result, RIGHT]

    world.fail(NO_KEY)
    world.now += 10.0
    world.fail(DOWN)

    assert world.held == held


def test_what_failed_in_an_outage_stays_unwritten_when_it_is_over(world: World) -> None:
    """It is tried again last; the leg goes on, and answers of that time are forgotten."""
    world.controls = [wrong(), wrong(), RIGHT]

    world.fail()

    assert (world.written, world.put_aside, world.forgotten) == ([], {0}, 2)
    assert (world.ended_by, world.is_held) == (None, False)
    assert world.admit(ACCEPTED)


def test_a_try_that_a_wrong_control_met_is_worthless(world: World) -> None:
    """It began before and ended after it; the next right control says nothing about it. A later try counts."""
    before = world.now
    world.now += 1.0
    world.controls = [wrong(), RIGHT]
    world.fail()
    world.now += 1_000.0
    world.fail(began_at=before)
    world.fail(began_at=world.now - 1.0)
    world.now += 1_000.0
    world.admit(ACCEPTED)

    assert (sorted(world.written), world.put_aside) == ([2, 3], {0, 1})


def test_a_control_decides_only_about_tries_that_ended_before_it_began(world: World) -> None:
    """What fails while it is made waits for the next one."""

    def fail_meanwhile() -> None:
        world.during = lambda: None
        world.now += 1.0
        world.fail()

    world.during = fail_meanwhile
    world.fail()
    first = list(world.written)
    world.now += 100.0
    world.admit(ACCEPTED)

    assert (first, sorted(world.written)) == ([0], [0, 1, 2])
    assert [suspects for _, _, suspects in world.made] == [1, 1]


@pytest.mark.parametrize(("control", "last", "doubt"), [(NOT_NOW, DOWN, Doubt.SERVICE), (NO_CONTROL, SLOW, Doubt.SIZE)])
def test_where_no_control_can_be_made_rows_remain(world: World, control: Result, last: Exchange, doubt: Doubt) -> None:
    """No calls are left for it, or no file is as large: nothing is shown, also at the end, and the lane is not held."""
    world.controls = [control]

    world.fail(last)
    world.control.finish()

    assert {*world.doubts} == {doubt}
    assert (world.written, world.put_aside) == ([], {0})
    assert (world.ended_by, world.is_held) == (None, False)


def test_a_control_of_size_says_nothing_of_larger_files(world: World) -> None:
    """Only what is as large as the file that was sent is believed."""
    world.controls = [Result(finding=ControlFinding.RIGHT, most_bytes=100)]
    world.fail(SLOW, size=100)
    world.fail(SLOW, size=101)
    world.now += 10.0

    world.fail(SLOW, size=99)

    assert (world.written, world.put_aside) == ([0, 2], {1})


@pytest.mark.parametrize(("control", "written", "ended_by"), [(NO_CONTROL, [0], None), (wrong(), [], "breaker")])
def test_refusals_of_bytes_that_were_accepted_stand_unless_a_control_is_wrong(
    world: World, control: Result, written: list[int], ended_by: str | None
) -> None:
    """An answer is an answer; but the registry may have been emptied, if accepted files are refused too."""
    world.controls, world.was_accepted = [control], True

    assert not world.admit(rejected())
    assert {*world.doubts} == {Doubt.CONTENT}
    assert (world.written, world.ended_by) == (written, ended_by)


def test_failures_without_a_control_wait_for_the_end_or_until_they_are_many(world: World) -> None:
    """A hundred in a row are written at once: the memory of a process does not grow with a catalog."""
    world.controls = [NO_CONTROL]
    world.fail(UNFIT)
    world.fail(UNFIT)
    first = list(world.written)
    world.control.finish()
    few = sorted(world.written)

    for _ in range(TRIES_IN_A_ROW + 1):
        world.fail(UNFIT)

    assert (first, few) == ([], [0, 1])
    assert sorted(world.written) == list(range(2 + TRIES_IN_A_ROW))


def test_items_of_a_source_that_is_away_come_last_and_others_go_on(world: World) -> None:
    """The leg does not end for it; what cannot be read remains."""
    world.controls = [wrong("The source /c cannot be read.")]

    assert not world.admit(MISSING)

    assert (world.written, world.ended_by, world.is_held) == ([], None, False)
    assert not world.control.may_try(WorkItem(manifest_row=9, item_id="b", audio="/c/b.wav"))
    assert world.control.may_try(WorkItem(manifest_row=9, item_id="b", audio="/elsewhere/b.wav"))
    assert "1 files are in doubt. The source /c cannot be read." in world.control.sentence(1)
    assert world.admit(ACCEPTED, audio="/elsewhere/a.wav")


@pytest.mark.parametrize("outcome", [FAILED, rejected()])
@pytest.mark.parametrize(("errors", "written", "ended_by", "until"), [(5, [0], None, 5), (1_000, [], "breaker", 60)])
def test_a_store_that_fails_is_read_again_for_a_while(
    world: World, *, outcome: Outcome, errors: int, written: list[int], ended_by: str | None, until: float
) -> None:
    """Once a second; then the leg ends, and nothing is written that could not be judged."""
    world.errors = errors

    world.admit(outcome, DOWN)

    assert (world.written, world.ended_by, world.now) == (written, ended_by, 1_000.0 + until)
    assert ended_by is None or "results store cannot be used" in str(world.stop.reason)


def test_too_many_tries_in_a_row_wait_for_the_next_control(world: World) -> None:
    """Else an outage that began just after a control would cost every file its tries."""
    for _ in range(TRIES_IN_A_ROW):
        world.fail()
    before = world.now

    world.fail()

    assert (before, world.now) == (1_000.0, 1_010.0)
    assert len(world.written) == TRIES_IN_A_ROW + 1


def test_a_leg_that_ends_believes_nothing_more(world: World) -> None:
    """Its rows remain for another leg."""
    world.fail()
    world.fail()
    world.stop.pull(RunMustStop("Enough.", ended_by="cancelled"))
    world.now += 100.0

    world.fail()
    with pytest.raises(RunMustStop):
        world.control.finish()

    assert (world.written, len(world.made)) == ([0], 1)


def let_calls_fail(world: World) -> None:
    for _ in range(FAILURES_IN_A_ROW):
        world.dispatcher.note(DOWN)


@pytest.mark.parametrize(("controls", "until"), [([RIGHT], 0.0), ([wrong(), wrong(), RIGHT], 30.0)])
def test_calls_that_fail_for_many_wait_until_a_control_is_right(
    world: World, controls: list[Result], until: float
) -> None:
    """It goes once for all of them: failures are counted anew, and their items go on with their tries."""
    world.controls = list(controls)
    let_calls_fail(world)

    assert world.control.is_well()
    assert world.control.is_well()
    assert world.doubts == [Doubt.SERVICE] * len(controls)
    assert (world.now, world.is_held) == (1_000.0 + until, False)


@pytest.mark.parametrize("later", [NOT_NOW, NO_CONTROL])
def test_a_leg_in_an_outage_ends_as_its_last_wrong_control_showed(world: World, later: Result) -> None:
    """The controls after it cannot be made any more, and none is made without a pause."""
    world.controls = [wrong(), later]

    world.fail()

    assert world.stop.reason is not None
    assert (world.stop.reason.message, world.ended_by) == ("It is down.", "breaker")
    assert (world.written, len(world.made) < 10) == ([], True)


@pytest.mark.parametrize("control", [RIGHT, NO_CONTROL])
def test_many_damaged_files_are_written_when_the_source_is_right_or_nothing_is_known_of_it(
    world: World, control: Result
) -> None:
    """A supplier may send a hundred of them; a control is made from the twentieth on, and no call is held."""
    world.controls = [control]

    for _ in range(100):
        world.admit(DAMAGED)
        world.now += 0.1
    world.control.finish()

    assert sorted(world.written) == list(range(100))
    assert {*world.doubts} == {Doubt.BYTES}
    assert len(world.made) < 20
