"""Write down what is believed of a leg's outcomes; the rest waits for evidence or a check, by the rules of `fault`."""

import math
import sys
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from proofsweep.client.scheduler import Dispatcher
from proofsweep.config.logs import Event, log
from proofsweep.config.threads import StopSwitch
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError, RunMustStop
from proofsweep.domain.items import Mode, Row, WorkItem
from proofsweep.domain.outcomes import Finished, Rejected
from proofsweep.verify.fault import ALIKE, InQuestion, Question, Rules, is_of_content, shown_by
from proofsweep.verify.probes import RIGHT, CheckFinding, Checks, Result

_FIRST_CHECK_AT = 50  # so many that wait without evidence are checked; then twice as many, and so on
_MOST_WAITING = 1_000
_MOST_TRIED_SOON = 1_000  # items that failed once and are kept in memory; more are read again at the end
_LOOK_AGAIN_SECONDS = 1.0
_NOTHING_KNOWN = (
    "proofsweep: many files are refused alike, and none is known that must be accepted, so this is believed; files in "
    "`service.known_good` would tell.\n"
)
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """An outcome that waits for evidence, with its row; its last try ended in monotonic seconds, 0 for any."""

    done: Finished
    row: Row
    question: Question
    ended_at: float


@dataclass(slots=True, kw_only=True)
class Attribution:
    """Decides for one process of a leg; safe to use from several threads."""

    checks: Checks
    dispatcher: Dispatcher
    stop: StopSwitch
    mode: Mode  # of the probe that is sent when calls fail for many items
    outage_seconds: float  # how long checks may come out wrong before the leg ends
    put_aside: set[int] = field(default_factory=set)  # rows that were tried, and are not written
    _rules: Rules = field(default_factory=Rules)
    _failed_once: set[int] = field(default_factory=set)
    _failed_at: dict[Mode, float] = field(default_factory=dict)  # when the newest of these failed
    _again: deque[tuple[WorkItem, float]] = field(default_factory=deque)  # failed once, and when
    _waiting: list[Suspect] = field(default_factory=list)
    _check_at: int = _FIRST_CHECK_AT
    _has_said_so: bool = False
    _seen: dict[Question, float] = field(default_factory=dict)  # when the newest item began that is evidence
    _wrong_at: float = -math.inf
    _lost_roots: dict[str, tuple[str, list[Finished]]] = field(default_factory=dict)  # why, and what was missing
    _lock: threading.Lock = field(default_factory=threading.Lock)  # for what is kept here
    _checking: threading.Lock = field(default_factory=threading.Lock)  # for the thread that makes checks

    def admit(self, done: Finished, row: Row, began_at: float) -> bool:
        """Write a row down if its outcome is believed, and say so; else it waits, or is tried again."""
        try:
            root, was_accepted = self.checks.known.root_of(done.item.audio), self._was_accepted(done)
            with self._lock:
                question = self._rules.question_of(done, root, was_accepted=was_accepted)
                if question is not None:
                    self._put_aside(done, row, question, began_at)
            if question is None:
                self._write(done, row)
            for shown in shown_by(done, question, root):
                self._take_evidence(shown, began_at)
            self._make_due_checks(done.item.mode)
        except RunMustStop:
            return False
        return question is None

    def may_try(self, item: WorkItem) -> bool:
        return not self._lost_roots or self.checks.known.root_of(item.audio) not in self._lost_roots

    def next_to_try_again(self) -> WorkItem | None:
        """Return an item that failed, if the service was seen to work since."""
        with self._lock:
            if self._again:
                item, failed_at = self._again[0]
                if self._last_seen(item.mode) > failed_at:
                    return self._again.popleft()[0]
        return None

    def begin_round(self) -> set[int]:
        """Take note that all that remains is tried again, but the rows that wait for evidence; return these.

        What failed is not tried again before the service was seen to work: else both tries may meet one outage.
        RunMustStop if the leg ends meanwhile.
        """
        with self._checking:
            for mode, failed_at in list(self._failed_at.items()):
                if self._last_seen(mode) <= failed_at:
                    self._settle(Question(InQuestion.SERVICE, mode))
        with self._lock:
            self._again.clear()
            return {each.done.item.manifest_row for each in self._waiting}

    def _last_seen(self, mode: Mode) -> float:
        """Return when the last item began whose answer showed that the service works."""
        return self._seen.get(Question(InQuestion.SERVICE, mode), -math.inf)

    def finish(self) -> None:
        """Check what still waits, and wait for roots that are away; RunMustStop if the leg ends."""
        with self._checking:
            while self._waiting:
                self._settle(self._waiting[0].question)
            lost_at = self.dispatcher.clock() + self.outage_seconds
            for root, (_, missing) in list(self._lost_roots.items()):
                while self.ask_store(partial(self.checks.look_at_root, root, missing)).finding is CheckFinding.WRONG:
                    if self.dispatcher.clock() >= lost_at:
                        return
                    self.stop.rest(_LOOK_AGAIN_SECONDS)
                del self._lost_roots[root]

    def restore(self) -> None:
        """Return when the open circuit is closed, since a probe was answered; RunMustStop if the leg ends."""
        with self._checking:
            if self.dispatcher.is_open:  # else the check before has closed it
                self._settle(Question(InQuestion.SERVICE, self.mode))

    def ask_store(self, ask: Callable[[], _Answer]) -> _Answer:
        """Return what the results store answers; wait for one that fails, until that ends the leg (RunMustStop)."""
        lost_at = self.dispatcher.clock() + self.outage_seconds
        while True:
            try:
                return ask()
            except ResultsError as error:
                if self.dispatcher.clock() >= lost_at:
                    why = f"The results store cannot be used: {error.message}"
                    self.stop.pull(RunMustStop(why, ended_by=EndedBy.BREAKER))
                self.stop.rest(_LOOK_AGAIN_SECONDS)

    def sentence(self, remaining: int) -> str:
        """Return why rows remain when all else is done."""
        said = [why for why, _ in self._lost_roots.values()] or ["They could not be tried again."]
        return f"{remaining:,} files remain. {' '.join(said)} `resume` tries them again."

    def _was_accepted(self, done: Finished) -> bool:
        """Whether the bytes that are refused now were accepted before."""
        read, mode, past = done.read, done.item.mode, self.checks.known.past
        if not isinstance(done.outcome, Rejected) or done.earlier is not None or read is None or read.sha256 is None:
            return False
        return self.ask_store(partial(past.was_accepted, mode, read.sha256, read.sidecar_sha256))

    def _put_aside(self, done: Finished, row: Row, question: Question, began_at: float) -> None:
        """Let an outcome wait for evidence. A first failure that a wait may heal is tried again instead.

        So is a try that a wrong check met: it says nothing. Under the lock.
        """
        number, mode, now = done.item.manifest_row, done.item.mode, self.dispatcher.clock()
        self.put_aside.add(number)
        if began_at <= self._wrong_at:
            return
        of_content = is_of_content(done)
        if question.what is InQuestion.SERVICE and not of_content and number not in self._failed_once:
            self._failed_once.add(number)
            self._failed_at[mode] = now
            if len(self._again) < _MOST_TRIED_SOON:
                self._again.append((done.item, now))
            return
        ended_at = 0.0 if of_content and not self._rules.has_judged(mode) else now  # any verdict is evidence then
        self._waiting.append(Suspect(done=done, row=row, question=question, ended_at=ended_at))

    def _take_evidence(self, question: Question, began_at: float) -> None:
        """Believe what ended before an item began that came out right."""
        with self._lock:
            self._seen[question] = max(began_at, self._seen.get(question, -math.inf))
            if not self._waiting:
                return
            believed = [each for each in self._waiting if each.question == question and each.ended_at <= began_at]
            self._waiting = [each for each in self._waiting if each.question != question or each.ended_at > began_at]
        for each in believed:
            self._write(each.done, each.row)

    def _write(self, done: Finished, row: Row) -> None:
        self.checks.trail.write(done, row)
        with self._lock:
            self.put_aside.discard(done.item.manifest_row)
        self.checks.known.note(done)

    def _make_due_checks(self, mode: Mode) -> None:
        """Check where very many wait without evidence, or all is accepted; other threads go on meanwhile."""
        accepts_all = self._rules.accepts_all(mode)
        are_many = len(self._waiting) >= self._check_at
        if not (accepts_all or are_many) or not self._checking.acquire(blocking=False):
            return
        try:
            self.stop.check()
            waiting = [Question(InQuestion.SERVICE, mode)] if accepts_all else [each.question for each in self._waiting]
            if waiting:
                self._settle(max(waiting, key=waiting.count))
        finally:
            self._checking.release()

    def _settle(self, question: Question) -> None:
        """Check until it comes out right, and decide about what waited before; a root that is away is lost at once.

        While it comes out wrong only checks go, and what was tried meanwhile is tried again. RunMustStop if that takes
        too long.
        """
        clock, wrong = self.dispatcher.clock, RIGHT
        lost_at = clock() + self.outage_seconds
        with self._lock:
            in_question = [each.done for each in self._waiting if each.question == question]
        while True:
            self.stop.check()
            began_at = clock()
            result = self._check(question, in_question)
            if result.finding is CheckFinding.WRONG:
                wrong = result
            elif result.finding is CheckFinding.RIGHT or wrong is RIGHT:
                break
            if question.what is InQuestion.SOURCE:
                self._lost_roots[question.where] = wrong.why, in_question
                self._drop(question)
                return
            self._forget_since_wrong()
            self.dispatcher.probe_failed()
            if clock() >= lost_at:
                self.stop.pull(RunMustStop(wrong.why, ended_by=wrong.ended_by))
            self.stop.rest(min(self.dispatcher.probe_due_seconds, max(0.0, lost_at - clock())))
        if wrong is not RIGHT:
            self._forget_since_wrong()
        self.dispatcher.close_circuit()
        if result.finding is CheckFinding.NOTHING_KNOWN and not self._has_said_so:
            self._has_said_so = True
            sys.stderr.write(_NOTHING_KNOWN)  # a command mutes the log
        self._check_at = min(2 * self._check_at, _MOST_WAITING)
        if result.finding is CheckFinding.RIGHT and question.what is InQuestion.SERVICE:
            self._rules.note_refused_probe(Mode(question.where))
        if result.finding is not CheckFinding.NOT_NOW:
            self._take_evidence(question, began_at)
            return
        self._drop(question)
        self.stop.check()

    def _check(self, question: Question, in_question: list[Finished]) -> Result:
        if question.what is InQuestion.SOURCE:
            result = self.ask_store(partial(self.checks.look_at_root, question.where, in_question))
        else:
            self.dispatcher.begin_probe()
            mode, of_content = Mode(question.where), sum(map(is_of_content, in_question))
            result = Result(CheckFinding.NOTHING_KNOWN)
            if of_content or question.what is InQuestion.REGISTRY:
                result = self.ask_store(partial(self.checks.send_known, mode))
            if result.finding is CheckFinding.NOTHING_KNOWN and question.what is InQuestion.SERVICE:
                result = self.checks.probe_service(mode, needs_verdict=of_content >= ALIKE)
        log(Event.CHECK_ENDED, in_question=question.what, finding=result.finding)
        return result

    def _drop(self, question: Question) -> None:
        with self._lock:
            self._waiting = [each for each in self._waiting if each.question != question]

    def _forget_since_wrong(self) -> None:
        """Forget what was tried until now, and the answers that copies would be given; it is tried again at the end."""
        with self._lock:
            self._wrong_at, self._waiting = self.dispatcher.clock(), []
            self._rules.doubt_verdicts()
        if self.checks.verify.duplicates is not None:
            self.checks.verify.duplicates.forget()
