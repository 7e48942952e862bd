"""What is strange is written down exactly if the control beside it comes out right."""

from collections.abc import Callable, Iterable
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
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.store.known_rows import PastAnswers
from proofsweep.verify.attribution import Control
from proofsweep.verify.fault import REFUSALS_IN_A_ROW, TRIES_IN_A_ROW, ControlFinding, Doubt, Subject
from proofsweep.verify.probes import ControlCalls, KnownFiles, Result

from ..left_behind import exchange
from ..scripted_service import NOW

ACCEPTED = Accepted(Answer(VerifyResponse(good=True, verdict="valid"), "d"))
REJECTED = outcome_of(Answer(VerifyResponse(good=False, verdict="tampered"), "d"))
FAILED = Failed(reason="http_500", detail="")
RIGHT, NOT_NOW = Result(finding=ControlFinding.RIGHT), Result(finding=ControlFinding.NOT_NOW)
NO_CONTROL = Result(finding=ControlFinding.NO_CONTROL)
WRONG = Result(finding=ControlFinding.WRONG, why="It is down.")


DOWN = exchange(Call.VERIFY, 500)
SLOW = exchange(Call.SLOT, None, Failure.TIMEOUT)
UNFIT = exchange(Call.VERIFY, 422)
NO_KEY = exchange(Call.UPLOADS, 403)


@dataclass
class World:
    """Time that a test moves, and what happened in it.

    Attributes:
        now: monotonic seconds; a rest moves them too.
        controls: that come out so, in order; the last one for ever.
        made: the controls that were made: when, of what, and with how many suspects.
        held: whether the lane was held when each of them was made.
        during: called while a control is made.
        written: the rows.
        errors: of the store of results, before it answers.
        was_accepted: whether any bytes were accepted before.
    """

    now: float = 1_000.0
    controls: list[Result] = field(default_factory=lambda: [RIGHT])
    made: list[tuple[float, Subject, int]] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)
    during: Callable[[], object] = lambda: None
    written: list[int] = field(default_factory=list)
    errors: int = 0
    was_accepted: bool = False
    forgotten: int = 0
    rows: int = 0

    def __post_init__(self) -> None:
        self.leg: Any = SimpleNamespace(write=self.write, duplicates=SimpleNamespace(forget=self.forget))
        self.stop = MovingSwitch(self)
        self.dispatcher = Dispatcher(CallQueue(Pacer(first_rate=1e6)), ServiceHealth(), self.stop, clock=self.clock)
        self.control = Control(
            calls=ScriptedCalls(self),
            dispatcher=self.dispatcher,
            stop=self.stop,
            mode=Mode.ONE_FILE,
            outage_seconds=60.0,
        )

    def clock(self) -> float:
        """Return the time."""
        return self.now

    def write(self, done: Finished, row: Row) -> None:
        """Take note of a row."""
        assert row["manifest_row"] == done.item.manifest_row
        self.written.append(done.item.manifest_row)

    def forget(self) -> None:
        """Take note that answers are forgotten."""
        self.forgotten += 1

    def fail_at_times(self) -> None:
        """Be the store of results."""
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
        sidecar: str | None = None,
    ) -> bool:
        """End the next item."""
        item = WorkItem(manifest_row=self.rows, item_id="a", audio=audio, sidecar=sidecar)
        read = AudioRead(audio_format="wav", size_bytes=size, version="v", sha256="d")
        done = Finished(item=item, outcome=outcome, started_at=NOW, finished_at=NOW, read=read, exchanges=exchanges)
        self.rows += 1
        began_at = self.now if began_at is None else began_at
        return self.control.admit(done, {"manifest_row": item.manifest_row}, began_at)

    def fail(self, *exchanges: Exchange, began_at: float | None = None, size: int = 8) -> bool:
        """Fail the next item, by default because the service is down."""
        return self.admit(FAILED, *(exchanges or (DOWN,)), began_at=began_at, size=size)

    @property
    def ended_by(self) -> str | None:
        """How the leg ended."""
        return None if self.stop.reason is None else self.stop.reason.ended_by

    def doubts(self) -> list[Doubt]:
        """List what the controls were made for."""
        return [subject.doubt for _, subject, _ in self.made]


class MovingSwitch(StopSwitch):
    """A switch whose rests take no time but the test's."""

    def __init__(self, world: World) -> None:
        """Take whose time passes."""
        super().__init__()
        self.world = world

    def rest(self, seconds: float) -> None:
        """Let time pass, unless the leg ends."""
        if self.reason is None:
            self.world.now += max(0.0, seconds)
        self.check()


class KnownPast(PastAnswers):
    """What earlier runs left behind, as the test says."""

    def __init__(self, world: World) -> None:
        """Take who knows."""
        self.world = world

    def was_accepted(self, mode: Mode, audio_sha256: str, sidecar_sha256: str | None) -> bool:
        """Tell it of any bytes."""
        del mode, audio_sha256, sidecar_sha256
        self.world.fail_at_times()
        return self.world.was_accepted


class ScriptedCalls(ControlCalls):
    """Controls that come out as the test says."""

    def __init__(self, world: World) -> None:
        """Take who says it."""
        self.world, leg = world, world.leg
        super().__init__(leg, leg, KnownFiles("/c", KnownPast(world)))

    def make(self, subject: Subject, suspects: Iterable[Finished]) -> Result:
        """Return the next result."""
        world = self.world
        world.fail_at_times()
        world.made.append((world.now, subject, len(list(suspects))))
        world.held.append(world.dispatcher.status().is_outage)
        world.during()
        return world.controls.pop(0) if len(world.controls) > 1 else world.controls[0]


@pytest.fixture
def world() -> World:
    """A leg in which every control comes out right."""
    return World()


def test_what_is_not_strange_is_written_at_once(world: World) -> None:
    """No control is made for it."""
    outcomes = [ACCEPTED, REJECTED, Ineligible(Reason.EMPTY, ""), Failed(reason=Reason.SOURCE_CHANGED, detail="")]

    assert [world.admit(outcome) for outcome in outcomes] == [True] * 4
    assert world.written == [0, 1, 2, 3]
    assert world.made == []


def test_a_failure_is_written_when_its_control_comes_out_right(world: World) -> None:
    """The first control goes at once; the row is not given back, since it was written another way."""
    assert not world.fail()
    assert world.written == [0]
    assert world.control.suspects.put_aside == set()
    assert world.doubts() == [Doubt.SERVICE]


def test_one_right_control_decides_about_all_that_failed_before_it(world: World) -> None:
    """However many: the next control waits until it is due."""
    world.fail()
    world.now += 1.0
    for _ in range(50):
        world.fail()
    before, aside = list(world.written), set(world.control.suspects.put_aside)

    world.now += 10.0
    world.fail()

    assert (before, aside) == ([0], set(range(1, 51)))
    assert sorted(world.written) == list(range(52))
    assert len(world.made) == 2


@pytest.mark.parametrize("ended_by", [EndedBy.KEY_REFUSED, EndedBy.BREAKER])
def test_wrong_controls_end_the_leg_as_they_show(world: World, ended_by: EndedBy) -> None:
    """No row is written, only controls go meanwhile, and their waits double until `outage_seconds` are over."""
    world.controls = [Result(finding=ControlFinding.WRONG, why="It is so.", ended_by=ended_by)]

    assert not world.fail()

    assert world.written == []
    assert world.control.suspects.put_aside == {0}
    assert world.ended_by == ended_by
    assert world.stop.reason is not None
    assert world.stop.reason.message == "It is so."
    assert [when for when, *_ in world.made] == [1_000.0, 1_010.0, 1_030.0, 1_060.0]
    assert world.held == [False, True, True, True]


@pytest.mark.parametrize(
    ("result", "held"), [(RIGHT, [True, False]), (NOT_NOW, [True, False]), (WRONG, [True, True, False])]
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
    world.controls = [WRONG, WRONG, RIGHT]

    world.fail()

    assert world.written == []
    assert world.control.suspects.put_aside == {0}
    assert world.ended_by is None
    assert not world.dispatcher.status().is_outage
    assert world.forgotten == 2
    assert world.admit(ACCEPTED)


def test_a_try_that_a_wrong_control_met_is_worthless(world: World) -> None:
    """It began before and ended after it; the next right control says nothing about it. A later try counts."""
    before = world.now
    world.now += 1.0
    world.controls = [WRONG, RIGHT]
    world.fail()
    world.now += 1_000.0
    world.fail(began_at=before)
    world.fail(began_at=world.now - 1.0)
    world.now += 1_000.0
    world.admit(ACCEPTED)

    assert sorted(world.written) == [2, 3]
    assert world.control.suspects.put_aside == {0, 1}


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

    assert first == [0]
    assert sorted(world.written) == [0, 1, 2]
    assert [suspects for _, _, suspects in world.made] == [1, 1]


def test_where_no_control_can_be_made_now_rows_remain(world: World) -> None:
    """No calls are left for it, and nothing is shown: the lane is not held."""
    world.controls = [NOT_NOW]

    world.fail()
    world.control.finish()

    assert world.written == []
    assert world.control.suspects.put_aside == {0}
    assert world.ended_by is None
    assert not world.dispatcher.status().is_outage


def test_a_time_out_without_a_control_is_put_aside(world: World) -> None:
    """Also at the end of the leg: nothing shows that such uploads work."""
    world.controls = [NO_CONTROL]

    world.fail(SLOW)
    world.control.finish()

    assert world.doubts() == [Doubt.SIZE]
    assert world.written == []
    assert world.control.suspects.put_aside == {0}


def test_a_control_of_size_says_nothing_of_larger_files(world: World) -> None:
    """Only what is as large as the file that was sent is believed."""
    world.controls = [Result(finding=ControlFinding.RIGHT, most_bytes=100)]
    world.fail(SLOW, size=100)
    world.fail(SLOW, size=101)
    world.now += 10.0

    world.fail(SLOW, size=99)

    assert world.written == [0, 2]
    assert world.control.suspects.put_aside == {1}


def test_refusals_of_bytes_that_were_accepted_stand_where_there_is_no_control(world: World) -> None:
    """An answer is an answer."""
    world.controls, world.was_accepted = [NO_CONTROL], True

    assert not world.admit(REJECTED)
    assert world.doubts() == [Doubt.CONTENT]
    assert world.written == [0]


def test_refusals_of_bytes_that_were_accepted_wait_for_a_right_control(world: World) -> None:
    """The registry may have been emptied: while accepted files are refused too, none is written."""
    world.controls, world.was_accepted = [WRONG], True

    world.admit(REJECTED)

    assert world.written == []
    assert world.ended_by == "breaker"


def test_many_refusals_alike_ask_for_a_control(world: World) -> None:
    """One for the refusal that is one too many."""
    admitted = [world.admit(REJECTED) for _ in range(REFUSALS_IN_A_ROW)]

    assert admitted == [True] * (REFUSALS_IN_A_ROW - 1) + [False]
    assert world.doubts() == [Doubt.CONTENT]
    assert len(world.written) == REFUSALS_IN_A_ROW


def test_failures_without_a_control_wait_for_the_end(world: World) -> None:
    """Then a few of them are written as they are."""
    world.controls = [NO_CONTROL]
    world.fail(UNFIT)
    world.fail(UNFIT)
    before = list(world.written)

    world.control.finish()

    assert before == []
    assert sorted(world.written) == [0, 1]
    assert world.control.suspects.put_aside == set()


def test_many_failures_without_a_control_do_not_wait_for_the_end(world: World) -> None:
    """A hundred in a row are written, and the memory of a process does not grow with a catalog."""
    world.controls = [NO_CONTROL]

    for _ in range(TRIES_IN_A_ROW + 1):
        world.fail(UNFIT)

    assert sorted(world.written) == list(range(TRIES_IN_A_ROW))


def test_items_of_a_source_that_is_away_come_last_and_others_go_on(world: World) -> None:
    """The leg does not end for it; what cannot be read remains."""
    world.controls = [Result(finding=ControlFinding.WRONG, why="The source /c cannot be read.")]
    missing = Ineligible(Reason.MISSING_AUDIO, "")

    assert not world.admit(missing)

    assert world.written == []
    assert world.ended_by is None
    assert not world.dispatcher.status().is_outage
    assert not world.control.may_try(WorkItem(manifest_row=9, item_id="b", audio="/c/b.wav"))
    assert world.control.may_try(WorkItem(manifest_row=9, item_id="b", audio="/elsewhere/b.wav"))
    assert "1 files are in doubt. The source /c cannot be read." in world.control.sentence(1)
    assert world.admit(ACCEPTED, audio="/elsewhere/a.wav")


def test_a_source_that_is_back_at_the_end_is_tried_again(world: World) -> None:
    """It is looked at once more."""
    lost = Result(finding=ControlFinding.WRONG, why="The source /c cannot be read.")
    world.controls = [lost]
    world.admit(Ineligible(Reason.MISSING_AUDIO, ""))
    item = WorkItem(manifest_row=9, item_id="b", audio="/c/b.wav")
    world.control.finish()
    still_away = world.control.may_try(item)

    world.controls = [RIGHT]
    world.control.finish()

    assert (still_away, world.control.may_try(item)) == (False, True)


def test_controls_that_make_no_call_go_more_often(world: World) -> None:
    """A run of a few files does not wait for them."""
    for _ in range(2):
        world.admit(Ineligible(Reason.MISSING_AUDIO, ""))
    before = list(world.written)
    world.now += 0.5

    world.admit(ACCEPTED)

    assert before == [0]
    assert sorted(world.written) == [0, 1, 2]


@pytest.mark.parametrize("outcome", [FAILED, REJECTED])
def test_a_store_that_fails_for_a_while_is_read_again(world: World, outcome: Outcome) -> None:
    """The answers of earlier runs are asked for until they can be had, once a second."""
    world.errors = 5

    world.admit(outcome, DOWN)

    assert world.written == [0]
    assert world.now == 1_005.0


@pytest.mark.parametrize("outcome", [FAILED, REJECTED])
def test_a_store_that_fails_for_too_long_ends_the_leg(world: World, outcome: Outcome) -> None:
    """Nothing is written that could not be judged."""
    world.errors = 1_000

    assert not world.admit(outcome, DOWN)

    assert world.written == []
    assert world.ended_by == "breaker"
    assert world.stop.reason is not None
    assert "results store cannot be used" in world.stop.reason.message
    assert world.now == 1_060.0


def test_too_many_tries_in_a_row_wait_for_the_next_control(world: World) -> None:
    """Else an outage that began just after a control would cost every file its tries."""
    world.fail()
    for _ in range(TRIES_IN_A_ROW - 1):
        world.fail()
    before = world.now

    world.fail()

    assert before == 1_000.0
    assert world.now == 1_010.0
    assert len(world.written) == TRIES_IN_A_ROW + 1


def test_controls_are_made_for_what_is_still_in_doubt_alone(world: World) -> None:
    """A wrong one puts all aside, so none is made for the others that waited."""
    for last in (DOWN, SLOW):
        world.fail(last)
    world.now += 1.0
    for last in (DOWN, SLOW):
        world.fail(last)
    world.controls = [WRONG, RIGHT]
    world.now += 10.0

    world.admit(ACCEPTED)

    assert [suspects for _, _, suspects in world.made if not suspects] == []
    assert world.control.suspects.put_aside == {2, 3}


def test_the_end_makes_the_controls_that_are_left(world: World) -> None:
    """It waits until each is due."""
    for last in (DOWN, SLOW, DOWN, SLOW):
        world.fail(last)
    before = sorted(world.written)

    world.control.finish()

    assert before == [0, 1]
    assert sorted(world.written) == [0, 1, 2, 3]
    assert world.now == 1_010.0


def test_a_leg_that_ends_believes_nothing_more(world: World) -> None:
    """Its rows remain for another leg."""
    world.fail()
    world.fail()
    world.stop.pull(RunMustStop("Enough.", ended_by="cancelled"))
    world.now += 100.0

    world.fail()
    with pytest.raises(RunMustStop):
        world.control.finish()

    assert world.written == [0]
    assert len(world.made) == 1


def let_calls_fail(world: World) -> None:
    """Let a call fail for many items."""
    for _ in range(FAILURES_IN_A_ROW):
        world.dispatcher.note(DOWN)


def test_calls_that_fail_for_many_go_on_after_a_right_control(world: World) -> None:
    """It goes once for all of them: failures are counted anew."""
    let_calls_fail(world)

    assert world.control.is_well()
    assert world.control.is_well()
    assert world.doubts() == [Doubt.SERVICE]


def test_calls_that_fail_for_many_wait_while_controls_come_out_wrong(world: World) -> None:
    """Until one is right, and then their items go on with their tries."""
    world.controls = [WRONG, WRONG, RIGHT]
    let_calls_fail(world)

    assert world.control.is_well()
    assert world.now == 1_030.0
    assert not world.dispatcher.status().is_outage


def test_calls_that_fail_for_many_are_given_up_before_a_control_is_due(world: World) -> None:
    """The last one has just been right."""
    let_calls_fail(world)
    world.control.is_well()
    let_calls_fail(world)

    assert not world.control.is_well()
    world.now += 10.0
    assert world.control.is_well()
    assert len(world.made) == 2


def test_a_leg_that_cannot_tell_says_so(world: World) -> None:
    """And names what can be done."""
    assert world.control.sentence(1_234) == (
        "1,234 files are in doubt. Nothing shows whether the service or these files are at fault: name files in "
        "`service.known_good` that it accepts. `resume` tries them last."
    )


@pytest.mark.parametrize("later", [NOT_NOW, NO_CONTROL])
def test_a_leg_in_an_outage_ends_as_its_last_wrong_control_showed(world: World, later: Result) -> None:
    """The controls after it cannot be made any more: their calls are spent, or their files are gone."""
    world.controls = [WRONG, later]

    def be_patient() -> None:
        if len(world.made) > 9:
            world.stop.pull(RunMustStop("It asks without a pause.", ended_by="error"))
            world.stop.check()

    world.during = be_patient
    world.fail()

    assert world.stop.reason is not None
    assert (world.stop.reason.message, world.ended_by) == ("It is down.", "breaker")
    assert world.written == []


DAMAGED = Ineligible(Reason.DAMAGED_IN_DELIVERY, "")


@pytest.mark.parametrize("control", [RIGHT, Result(finding=ControlFinding.NO_CONTROL)])
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
    assert {*world.doubts()} == {Doubt.BYTES}
    assert len(world.made) < 20


def test_damaged_files_of_a_source_that_gives_other_bytes_remain(world: World) -> None:
    """They come last, and the leg says why; nobody asks a supplier to send them again."""
    world.controls = [Result(finding=ControlFinding.WRONG, why="The source /c gives other bytes.")]

    for _ in range(30):
        world.admit(DAMAGED)
    world.control.finish()

    assert world.written == list(range(REFUSALS_IN_A_ROW - 1))
    assert "gives other bytes" in world.control.sentence(1)
    assert {*world.doubts()} == {Doubt.BYTES}
