"""Write down what is believed, and put aside what is in doubt until a control has shown whose fault it is."""

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from proofsweep.client.scheduler import Dispatcher
from proofsweep.client.stop import StopSwitch
from proofsweep.config.logs import Event, log
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError, RunMustStop
from proofsweep.domain.items import Mode, Row, WorkItem
from proofsweep.domain.outcomes import Failed, Finished, Rejected
from proofsweep.verify.fault import TRIES_IN_A_ROW, ControlFinding, Doubt, Schedule, Streaks, Subject, doubt_about
from proofsweep.verify.probes import ControlCalls, Result, size_of

CONTROL_WAIT_SECONDS = 10.0  # between the first two controls of a subject
_FREE_CONTROLS = 20  # so many times as often as others go controls that make no call
_READ_AGAIN_SECONDS = 1.0
_NOTHING_SHOWS = (
    "Nothing shows whether the service or these files are at fault: name files in `service.known_good` that it accepts."
)
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A strange outcome with its row, and when its tries began and ended in monotonic seconds."""

    done: Finished
    row: Row
    subject: Subject
    began_at: float
    ended_at: float


@dataclass(slots=True, kw_only=True)
class Control:
    """Decides for one process of a leg; safe to use from several threads. `fault` has the rule."""

    calls: ControlCalls
    dispatcher: Dispatcher
    stop: StopSwitch
    mode: Mode  # of the probe audio that is sent when calls fail for many items
    outage_seconds: float  # how long a control may come out wrong before the leg ends
    put_aside: set[int] = field(default_factory=set)  # rows that were tried, and are not written
    _waiting: list[Suspect] = field(default_factory=list)  # for a control, in the order in which they came
    _tries_in_a_row: int = 0  # failed tries since the last row that was written
    _streaks: Streaks = field(default_factory=Streaks)
    _schedules: dict[Subject, Schedule] = field(default_factory=dict)
    _wrong_at: float = -math.inf
    # by root that is away: what is in doubt, why, and its suspects
    _lost_roots: dict[str, tuple[Subject, str, Sequence[Finished]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)  # for what is put aside, and counted
    _asking: threading.Lock = field(default_factory=threading.Lock)  # for the thread that makes controls

    def admit(self, done: Finished, row: Row, began_at: float) -> bool:
        """Write a row down if nothing is strange about its outcome, and say so; else it waits for a control."""
        try:
            doubt = None if done.earlier is not None else self._doubt_about(done)
            if doubt is None:
                self._believe(done, row)
            else:
                self._put_aside(done, row, doubt, began_at)
            if self._waiting:
                self._make_due_controls()
        except RunMustStop:
            return False
        return doubt is None

    def may_try(self, item: WorkItem) -> bool:
        return not self._lost_roots or self.calls.known.root_of(item.audio) not in self._lost_roots

    def is_well(self) -> bool:
        """Return when the service works, for a session whose calls fail as those of many others do.

        It is False if a control cannot be made yet: the item gives up, and is in doubt. RunMustStop if the leg ends.
        """
        with self._asking:
            self.stop.check()
            subject = Subject(Doubt.SERVICE, self.mode)
            if not self.dispatcher.is_in_doubt:  # another thread made the control meanwhile
                return True
            if self.dispatcher.clock() < self._schedule(subject).due_at:
                return False
            self._control(subject)
            return True

    def finish(self) -> None:
        """Make the controls that are left, and look again at roots that were lost; RunMustStop if the leg ends.

        Where there is no control, failures are written as they are.
        """
        with self._asking:
            while waiting := self._subjects:
                subject = min(waiting, key=lambda each: self._schedule(each).due_at)
                self.stop.rest(self._schedule(subject).due_at - self.dispatcher.clock())
                self._control(subject, is_last=True)
            for root, (subject, _, suspects) in list(self._lost_roots.items()):
                if self.ask_store(partial(self.calls.make, subject, suspects)).finding is ControlFinding.RIGHT:
                    del self._lost_roots[root]

    def ask_store(self, ask: Callable[[], _Answer]) -> _Answer:
        """Return what the results store answers; wait for one that fails.

        Raises:
            RunMustStop: the leg ends meanwhile, or because of that.
        """
        lost_at = self.dispatcher.clock() + self.outage_seconds
        while True:
            try:
                return ask()
            except ResultsError as error:
                if self.dispatcher.clock() >= lost_at:
                    why = f"The results store cannot be used: {error.message}"
                    self.stop.pull(RunMustStop(why, ended_by=EndedBy.BREAKER))
                self.stop.rest(_READ_AGAIN_SECONDS)

    def sentence(self, in_doubt: int) -> str:
        """Return why rows remain when all else is done."""
        said = [why for _, why, _ in self._lost_roots.values()] or [_NOTHING_SHOWS]
        return f"{in_doubt:,} files are in doubt. {' '.join(said)} `resume` tries them last."

    def _doubt_about(self, done: Finished) -> Doubt | None:
        with self._lock:
            alike = self._streaks.note(done)
        read, was_accepted = done.read, False
        if isinstance(done.outcome, Rejected) and read is not None and (audio := read.sha256) is not None:
            mode, sidecar, past = done.item.mode, read.sidecar_sha256, self.calls.known.past
            was_accepted = self.ask_store(lambda: past.was_accepted(mode, audio, sidecar))
        return doubt_about(done, was_accepted=was_accepted, refusals_alike=alike)

    def _believe(self, done: Finished, row: Row) -> None:
        self.calls.trail.write(done, row)
        with self._lock:
            self._tries_in_a_row = 0
            self.put_aside.discard(done.item.manifest_row)
        self.calls.known.note(done)

    def _put_aside(self, done: Finished, row: Row, doubt: Doubt, began_at: float) -> None:
        root = self.calls.known.root_of(done.item.audio) if doubt.is_of_root else ""
        subject, now = Subject(doubt, done.item.mode, root), self.dispatcher.clock()
        with self._lock:
            self._waiting.append(Suspect(done=done, row=row, subject=subject, began_at=began_at, ended_at=now))
            self.put_aside.add(done.item.manifest_row)
            self._tries_in_a_row += isinstance(done.outcome, Failed)

    @property
    def _subjects(self) -> set[Subject]:
        return {each.subject for each in self._waiting}

    def _make_due_controls(self) -> None:
        subjects = self._subjects
        if not self._asking.acquire(blocking=self._must_wait):
            return
        try:
            self.stop.check()
            for subject in subjects:
                wait_seconds = self._schedule(subject).due_at - self.dispatcher.clock()
                is_due = wait_seconds <= 0.0 or self._must_wait
                if is_due and subject in self._subjects:  # else the control before has decided
                    self.stop.rest(wait_seconds)
                    self._control(subject)
        finally:
            self._asking.release()

    @property
    def _must_wait(self) -> bool:
        return self._tries_in_a_row >= TRIES_IN_A_ROW

    def _schedule(self, subject: Subject) -> Schedule:
        first_wait_seconds = CONTROL_WAIT_SECONDS / (_FREE_CONTROLS if subject.doubt.is_of_root else 1)
        return self._schedules.setdefault(subject, Schedule(first_wait_seconds))

    def _control(self, subject: Subject, *, is_last: bool = False) -> None:
        """Make the control of a subject, and decide about the suspects whose tries ended before it."""
        began_at = self.dispatcher.clock()
        if subject.doubt is Doubt.KEY:  # a key that is refused is so for every call: none goes before this is known
            self.dispatcher.hold(is_held=True)
        with self._lock:
            suspects = [each for each in self._waiting if each.subject == subject and each.ended_at <= began_at]
            self._waiting = [each for each in self._waiting if each.subject != subject or each.ended_at > began_at]
        result = self._made(subject, [each.done for each in suspects])
        match result.finding:
            case ControlFinding.RIGHT:
                self._schedule(subject).began(began_at)
                self._trust()
                self._believe_all(suspects, result.most_bytes)
            case ControlFinding.WRONG:
                self._wait_until_right(subject, [each.done for each in suspects], result)
            case ControlFinding.NO_CONTROL if subject.doubt is Doubt.CONTENT:
                self._decide_alone(suspects, is_last=is_last)
            case ControlFinding.NO_CONTROL | ControlFinding.NOT_NOW:
                self._schedule(subject).began(began_at)
                if subject.doubt is Doubt.BYTES and result.finding is ControlFinding.NO_CONTROL:
                    self._believe_all(suspects)
                if subject.doubt is Doubt.KEY:
                    self.dispatcher.hold(is_held=False)
                self.stop.check()

    def _made(self, subject: Subject, suspects: Sequence[Finished]) -> Result:
        result = self.ask_store(lambda: self.calls.make(subject, suspects))
        if result.finding is not ControlFinding.NO_CONTROL:
            log(Event.CONTROL_ENDED, doubt=subject.doubt, mode=subject.mode, finding=result.finding)
        return result

    def _trust(self) -> None:
        self.dispatcher.hold(is_held=False)
        self._tries_in_a_row = 0

    def _believe_all(self, suspects: Sequence[Suspect], most_bytes: float = math.inf) -> None:
        """Believe what ended before the control, unless one came out wrong since its first try."""
        for each in suspects:
            if size_of(each.done) <= most_bytes and each.began_at > self._wrong_at:
                self._believe(each.done, each.row)

    def _decide_alone(self, suspects: Sequence[Suspect], *, is_last: bool) -> None:
        """Decide without a control: a refusal is believed, and so are failures at the end, or when many wait."""
        if not (is_last or self._must_wait):
            others = [each for each in suspects if not isinstance(each.done.outcome, Rejected)]
            with self._lock:
                self._waiting = [*others, *self._waiting]
            suspects = [each for each in suspects if isinstance(each.done.outcome, Rejected)]
        self._believe_all(suspects)

    def _wait_until_right(self, subject: Subject, suspects: Sequence[Finished], result: Result) -> None:
        """Let only controls go until one comes out right; end the leg when it takes too long.

        Items of a root that is away come last then, and others go on.
        """
        lost_at = self.dispatcher.clock() + self.outage_seconds
        self.dispatcher.hold(is_held=True)
        wrong = result
        while result.finding is not ControlFinding.RIGHT:
            wrong = result if result.finding is ControlFinding.WRONG else wrong
            self._wrong_at = now = self.dispatcher.clock()
            with self._lock:
                self._waiting = []  # their rows remain, and are tried again
            if self.calls.verify.duplicates is not None:
                self.calls.verify.duplicates.forget()
            if now >= lost_at:
                self._give_up(subject, suspects, wrong)
                break
            self._schedule(subject).began(now)
            self.stop.rest(min(self._schedule(subject).due_at, lost_at) - now)
            result = self._made(subject, suspects)
        self._wrong_at = self.dispatcher.clock()
        self._trust()

    def _give_up(self, subject: Subject, suspects: Sequence[Finished], wrong: Result) -> None:
        """End the leg; of a root that is away, only let its items come last."""
        if subject.doubt.is_of_root:
            self._lost_roots[subject.root] = (subject, wrong.why, suspects)
            return
        self.stop.pull(RunMustStop(wrong.why, ended_by=wrong.ended_by))
        self.stop.check()
