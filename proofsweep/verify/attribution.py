"""Write down what is believed of a leg's outcomes; the rest waits for evidence or a check, by the rules of `fault`."""

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from proofsweep.config.logs import LogEvent, log
from proofsweep.config.notices import say
from proofsweep.config.threads import Lock, StopSwitch
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResourceShortage, ResultsError, RunMustStop, SourceError
from proofsweep.domain.items import Mode, Row, WorkItem
from proofsweep.domain.outcomes import Accepted, Finished, Rejected
from proofsweep.domain.reasons import Reason
from proofsweep.files.local_files import WHY_HANGS
from proofsweep.files.mounts import hanging_place
from proofsweep.files.presence import Away, folder_of, places_of
from proofsweep.pacing.scheduler import Scheduler
from proofsweep.verify.fault import (
    ALIKE,
    ALONE_BITS,
    ENOUGH_BITS,
    CallsBeside,
    EndedCall,
    InQuestion,
    Question,
    Rules,
    ended_calls,
    is_of_content,
    shown_by,
)
from proofsweep.verify.probes import RIGHT, CheckFinding, Checks, Result, folder_in_question

_FIRST_CHECK_AT = 50  # so many that wait without evidence are checked; then twice as many, and so on
_MOST_WAITING = 1_000
_MOST_TRIED_SOON = 1_000  # items that failed once and are kept in memory; more are read again at the end
_LOOK_AGAIN_SECONDS = 1.0
_FOLDERS_NAMED = 5  # of those that are away, when a leg ends
_NOTHING_KNOWN = (
    "many files are refused alike, and none is known that must be accepted, so this is believed; files in "
    "`service.known_good` would tell."
)
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeferredOutcome:
    """An outcome that waits for evidence."""

    done: Finished
    row: Row | None  # what is written then; None for a first failure, which is tried again instead
    question: Question
    ended_at: float  # of its try, in monotonic seconds; 0 if any evidence will do
    failed: Sequence[EndedCall]  # the attempts of the call that it failed by
    alone_bits: float  # what its try weighs if no other file shows anything

    @property
    def is_weighed(self) -> bool:
        """Whether chance may have failed it: what speaks of the content, or is no failure of the service, is none."""
        return self.question.what is InQuestion.SERVICE and not is_of_content(self.done)

    def is_shown_by(self, question: Question, began_at: float) -> bool:
        return self.question == question and self.ended_at <= began_at


@dataclass(slots=True)
class FailedTries:
    """What the tries of an item that failed weigh together, and their calls that failed."""

    bits: float = 0.0
    calls: list[EndedCall] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Attribution:
    """Decides for one process of a leg; safe to use from several threads."""

    checks: Checks
    scheduler: Scheduler
    stop: StopSwitch
    mode: Mode  # of the probe that is sent when calls fail for many items
    outage_seconds: float  # how long checks may come out wrong before the leg ends
    deferred_rows: set[int] = field(default_factory=set)  # rows that were tried, and are not written
    _rules: Rules = field(default_factory=Rules)
    _failed: dict[int, FailedTries] = field(default_factory=dict)  # by row, of those that wait for another try
    _beside: CallsBeside = field(default_factory=CallsBeside)
    _alone_bits: float = 0.0
    _again: deque[WorkItem] = field(default_factory=lambda: deque(maxlen=_MOST_TRIED_SOON))  # the service works again
    _waiting: list[DeferredOutcome] = field(default_factory=list)
    _check_at: int = _FIRST_CHECK_AT
    _has_said_so: bool = False
    _wrong_at: float = -math.inf
    _away: dict[str, Away] = field(default_factory=dict)  # by the folder whose files, and those below it, wait
    _rows_away: dict[str, set[int]] = field(default_factory=dict)  # those that wait for it, as far as they were met
    _came_back: set[int] = field(default_factory=set)  # rows that are tried once more, since their files are there
    _in_question: dict[str, list[Finished]] = field(default_factory=dict)  # a few files of each of these folders
    _away_until: float = math.inf  # when they are no longer waited for, in this round or a later one
    _lock: Lock = field(default_factory=Lock)  # for what is kept here
    _checking: Lock = field(default_factory=Lock)  # for the thread that makes checks

    def admit(self, done: Finished, row: Row, began_at: float) -> bool:
        """Write a row down if its outcome is believed, and say so; else it waits, or is tried again."""
        try:
            was_accepted = self._was_accepted(done)
            with self._lock:
                question = self._rules.question_of(done, folder_in_question(done), was_accepted=was_accepted)
                calls = ended_calls(done.exchanges, self.scheduler.clock())
                if isinstance(done.outcome, Accepted | Rejected):
                    self._record_answered(done, calls)
                # The registry came out wrong while the service looked into it.
                if question is None and isinstance(done.outcome, Rejected) and began_at <= self._wrong_at:
                    self.deferred_rows.add(done.item.manifest_row)
                    return False
                if question is not None:
                    self._defer(done, row, question, began_at, calls)
            if question is None:
                self._write(done, row)
            for shown in shown_by(done, question, folder_of(done.item.audio)):
                self._weigh_evidence(shown, began_at)
            self._make_due_checks(done.item.mode)
        except RunMustStop:
            return False
        return question is None

    def _record_answered(self, done: Finished, calls: Sequence[EndedCall]) -> None:
        """Record the calls of an item that the service has answered; its failed ones were no fault of its file."""
        tries = self._failed.pop(done.item.manifest_row, None)
        if tries is not None:
            self._beside.record(done.item.mode, tries.calls)
        self._beside.record(done.item.mode, calls)

    def may_try(self, item: WorkItem) -> bool:
        """Whether no folder above an item's file is known to be away."""
        if not self._away:
            return True
        for folder in places_of(item.audio):
            if folder in self._away:
                self._rows_away.setdefault(folder, set()).add(item.manifest_row)
                return False
        return True

    def give_up(self, location: str, row: int) -> None:
        """Let an item wait whose read hangs, with all that lies there."""
        away = _hanging(location)
        self._in_question.setdefault(away.folder, [])
        self._rows_away.setdefault(away.folder, set()).add(row)
        self._away[away.folder] = away

    def end_by_hang(self, location: str) -> None:
        """End the leg, since a check hangs that the others wait for."""
        self.stop.pull(RunMustStop(_hanging(location).sentence, ended_by=EndedBy.BREAKER))

    def next_to_try_again(self) -> WorkItem | None:
        """Return an item that failed, if the service was seen to work since."""
        with self._lock:
            return self._again.popleft() if self._again else None

    def begin_round(self) -> set[int]:
        """Begin a round in which all that remains is tried again; return the rows that still wait for evidence.

        RunMustStop if the leg ends meanwhile.
        """
        # The service must be seen to work before what failed is tried again: else both tries may meet one outage.
        with self._alone():
            while (question := self._question_of_first_failure()) is not None:
                self._settle(question)
        with self._lock:
            self._again.clear()
            self._alone_bits = ALONE_BITS
            return {suspect.done.item.manifest_row for suspect in self._waiting}

    def _question_of_first_failure(self) -> Question | None:
        for suspect in self._waiting:
            if suspect.row is None:
                return suspect.question
        return None

    def finish(self) -> None:
        """Check what still waits, and wait for folders that are away; RunMustStop if the leg ends."""
        with self._alone():
            while self._waiting:
                self._settle(self._waiting[0].question)
            # All rounds together wait for a share no longer than an outage may last.
            self._away_until = min(self._away_until, self.scheduler.clock() + self.outage_seconds)
            while self._away and not self._are_back():
                if self.scheduler.clock() >= self._away_until:
                    return
                self.stop.rest(_LOOK_AGAIN_SECONDS)
            self._away_until = math.inf

    def _are_back(self) -> bool:
        """Look at the folders that are away again, and forget those that are not."""
        found = self.awaited(partial(self.checks.folders_away, self._in_question))
        still_away = {away.folder: away for away in found.values()}
        for folder in self._away.keys() - still_away.keys():
            self._rows_away.pop(folder, None)
        for folder in self._in_question.keys() - found.keys():
            del self._in_question[folder]
        self._away = still_away
        return not found

    def restore(self) -> None:
        """Return when the open circuit is closed, since a probe was answered; RunMustStop if the leg ends."""
        with self._alone():
            if self.scheduler.is_open:  # else the check before has closed it
                self._settle(Question(InQuestion.SERVICE, self.mode))

    @property
    def has_undecided(self) -> bool:
        """Whether files failed, and were tried too rarely to say whose fault it is."""
        return bool(self._failed)

    def sentence(self, remaining: int) -> str:
        """Return why rows remain when all else is done."""
        sentences = self._away_sentences() or ["They could not be tried again."]
        return f"{remaining:,} files remain. {' '.join(sentences)} `resume` tries them again."

    def _away_sentences(self) -> list[str]:
        """Name the folders that are away and how many files wait for each, those of most files first."""
        counts = {folder: len(self._rows_away.get(folder, ())) for folder in self._away}
        folders = sorted(counts, key=lambda folder: (-counts[folder], folder))
        named = folders[:_FOLDERS_NAMED]
        others = folders[_FOLDERS_NAMED:]
        sentences: list[str] = []
        for folder in named:
            away = self._away[folder].sentence
            sentences.append(f"{away} Files in it: {counts[folder]:,}.")
        if others:
            files = sum(counts[folder] for folder in others)
            sentences.append(f"So are {len(others):,} other folders, with {files:,} files.")
        return sentences

    def awaited(self, ask: Callable[[], _Answer]) -> _Answer:
        """Ask again while the results store fails, or too few files can be opened here, until that ends the leg."""
        lost_at = math.inf
        while True:
            try:
                return ask()
            except ResultsError as error:
                why = f"The results store cannot be used: {error.message}"
            except ResourceShortage as error:
                why = f"Too little is left on this machine: {error.message}"
            lost_at = min(lost_at, self.scheduler.clock() + self.outage_seconds)
            if self.scheduler.clock() >= lost_at:
                self.stop.pull(RunMustStop(why, ended_by=EndedBy.BREAKER))
            self.stop.rest(_LOOK_AGAIN_SECONDS)

    def _was_accepted(self, done: Finished) -> bool:
        """Whether the bytes that are refused now were accepted before."""
        is_new_refusal = isinstance(done.outcome, Rejected) and done.earlier is None
        read = done.read
        if not is_new_refusal or read is None or read.sha256 is None:
            return False
        was_accepted = self.checks.known.past.was_accepted
        return self.awaited(partial(was_accepted, done.item.mode, read.sha256, read.sidecar_sha256))

    def _defer(self, done: Finished, row: Row, question: Question, began_at: float, calls: Sequence[EndedCall]) -> None:
        """Let an outcome wait for evidence; a try that a wrong check met says nothing. Under the lock."""
        number, of_content = done.item.manifest_row, is_of_content(done)
        self.deferred_rows.add(number)
        if began_at <= self._wrong_at:
            return
        # A first failure has no row: its item is tried again, since one try in a bad moment says nothing.
        is_first = question.what is InQuestion.SERVICE and not of_content and number not in self._failed
        if is_first:
            self._failed[number] = FailedTries()
        ended_at = self.scheduler.clock()
        if of_content and not self._rules.has_judged(done.item.mode):
            ended_at = 0.0  # any verdict is evidence, also one that was on its way
        # Its last call failed the item. The attempts of that call weigh, and none of the calls before it.
        failed = [call for call in calls if call.call is calls[-1].call and not call.is_right]
        suspect = DeferredOutcome(
            done=done,
            row=None if is_first else row,
            question=question,
            ended_at=ended_at,
            failed=failed,
            alone_bits=self._alone_bits,
        )
        self._waiting.append(suspect)

    def _weigh_evidence(self, question: Question, began_at: float) -> None:
        """Believe what ended before an item began that came out right, or let it be tried again."""
        # What weighs too little and is no first failure is tried again at the end: it failed in a troubled hour.
        believed = list[DeferredOutcome]()
        still_waiting = list[DeferredOutcome]()
        with self._lock:
            for suspect in self._waiting:
                if not suspect.is_shown_by(question, began_at):
                    still_waiting.append(suspect)
                    continue
                if self._weighs_enough(suspect):
                    believed.append(suspect)
                if suspect.row is None:
                    self._again.append(suspect.done.item)
            self._waiting = still_waiting
        # Files are looked at, and rows are written, outside of the lock: both may take seconds.
        for suspect in believed:
            if question.what is InQuestion.SOURCE and self._has_come_back(suspect.done):
                self._again.append(suspect.done.item)
            elif suspect.row is not None:
                self._write(suspect.done, suspect.row)

    def _has_come_back(self, done: Finished) -> bool:
        """Whether a file that could not be read is there now: its share was away for less time than the check took."""
        item, outcome = done.item, done.outcome
        if isinstance(outcome, Accepted):
            return False
        if outcome.reason == Reason.MISSING_AUDIO:
            return self._is_there(item.audio, None)
        # A file that is there may be unreadable for good, and what the plan found missing is still missing: one more
        # try tells, and no third one.
        is_as_planned = item.ineligible is not None and item.ineligible.reason == outcome.reason
        if is_as_planned or item.manifest_row in self._came_back:
            return False
        self._came_back.add(item.manifest_row)
        if item.sidecar is not None and not self._is_there(item.sidecar, item.sidecar_version):
            return False
        return self._is_there(item.audio, item.audio_version)

    def _is_there(self, location: str, version: str | None) -> bool:
        with suppress(SourceError):
            facts = self.checks.verify.files.facts(location)
            return facts is not None and version in {None, facts.version}
        return False

    def _weighs_enough(self, suspect: DeferredOutcome) -> bool:
        """Add what a try weighs to the tries before; the service was seen to work since. Under the lock."""
        if not suspect.is_weighed:
            return True
        item = suspect.done.item
        tries = self._failed.setdefault(item.manifest_row, FailedTries())
        tries.bits += self._beside.bits_against(item.mode, suspect.failed, suspect.alone_bits)
        tries.calls += suspect.failed
        return tries.bits >= ENOUGH_BITS

    def _write(self, done: Finished, row: Row) -> None:
        self.checks.trail.write(done, row)
        with self._lock:
            self.deferred_rows.discard(done.item.manifest_row)
            self._failed.pop(done.item.manifest_row, None)
        self.checks.known.record(done)

    def _make_due_checks(self, mode: Mode) -> None:
        """Check where very many wait without evidence, or all is accepted; other threads go on meanwhile."""
        accepts_all = self._rules.accepts_all(mode)
        are_many = sum(suspect.row is not None for suspect in self._waiting) >= self._check_at
        if not (accepts_all or are_many) or not self._checking.acquire(blocking=False):
            return
        try:
            self.stop.check()
            questions = [suspect.question for suspect in self._waiting]
            if accepts_all:
                questions = [Question(InQuestion.SERVICE, mode)]
            if questions:
                self._settle(max(questions, key=questions.count))
        finally:
            self._checking.release()

    def _settle(self, question: Question) -> None:
        """Check, and decide about what waited before; RunMustStop if the leg ends."""
        if question.what is InQuestion.SOURCE:
            self._settle_sources()
            return
        with self._lock:
            in_question = [suspect.done for suspect in self._waiting if suspect.question == question]
        began_at, result = self._checked(question, in_question)
        self._check_at = min(2 * self._check_at, _MOST_WAITING)
        if result.finding is CheckFinding.NOTHING_KNOWN and not self._has_said_so:
            self._has_said_so = True
            say(_NOTHING_KNOWN)
        self._weigh_evidence(question, began_at)

    def _settle_sources(self) -> None:
        """Look at the folders of all files that wait; what lies in one that is away remains, until it is back."""
        waiting: dict[str, list[Finished]] = {}
        with self._lock:
            for suspect in self._waiting:
                if suspect.question.what is InQuestion.SOURCE:
                    waiting.setdefault(suspect.question.where, []).append(suspect.done)
        self.stop.check()
        began_at = self.scheduler.clock()
        found = self.awaited(partial(self.checks.folders_away, waiting))
        finding = CheckFinding.WRONG if found else CheckFinding.RIGHT
        log(LogEvent.CHECK_ENDED, in_question=InQuestion.SOURCE, finding=finding)
        self._check_at = min(2 * self._check_at, _MOST_WAITING)
        for folder in waiting.keys() - found.keys():
            self._weigh_evidence(Question(InQuestion.SOURCE, folder), began_at)
        # Files in a folder that is away wait for it, not for evidence: `finish` looks at the folder again.
        for folder, away in found.items():
            self._away[away.folder] = away
            self._in_question[folder] = waiting[folder][:1]
            rows = {done.item.manifest_row for done in waiting[folder]}
            self._rows_away.setdefault(away.folder, set()).update(rows)
            self._drop_waiting(Question(InQuestion.SOURCE, folder))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep others from making checks meanwhile; RunMustStop if the leg ends while one is made, which may hang."""
        while not self._checking.acquire(timeout=_LOOK_AGAIN_SECONDS):
            self.stop.check()
        try:
            yield
        finally:
            self._checking.release()

    def _drop_waiting(self, question: Question) -> None:
        with self._lock:
            self._waiting = [suspect for suspect in self._waiting if suspect.question != question]

    def _checked(self, question: Question, in_question: list[Finished]) -> tuple[float, Result]:
        """Return when a check began, and how it came out; only checks go while the service's come out wrong.

        What is tried meanwhile is tried again. RunMustStop if that takes too long.
        """
        clock, wrong = self.scheduler.clock, RIGHT
        lost_at = clock() + self.outage_seconds
        while True:
            self.stop.check()
            began_at, was_open = clock(), self.scheduler.is_open
            result = self.awaited(partial(self._check, question, in_question))
            log(LogEvent.CHECK_ENDED, in_question=question.what, finding=result.finding)
            # The checks of an outage do not show how often one call fails beside others.
            if not was_open:
                with self._lock:
                    self._beside.record(Mode(question.where), ended_calls(result.exchanges, clock()))
            if result.finding is CheckFinding.WRONG:
                wrong = result
            elif result.finding is CheckFinding.RIGHT or wrong is RIGHT:
                break
            self._forget_since_wrong()
            self.scheduler.probe_failed()
            if clock() >= lost_at:
                self.stop.pull(RunMustStop(wrong.why, ended_by=wrong.ended_by))
            left_seconds = max(0.0, lost_at - clock())
            self.stop.rest(min(self.scheduler.probe_due_seconds, left_seconds))
        if wrong is not RIGHT:
            self._forget_since_wrong()
        if result.finding is CheckFinding.RIGHT:
            self.scheduler.close_circuit()
        return began_at, result

    def _check(self, question: Question, in_question: list[Finished]) -> Result:
        self.scheduler.begin_probe()
        mode = Mode(question.where)
        of_content = sum(map(is_of_content, in_question))
        result = Result(CheckFinding.NOTHING_KNOWN)
        if of_content or question.what is InQuestion.REGISTRY:
            result = self.checks.send_known(mode, _only_digest(in_question))
        if result.finding is CheckFinding.NOTHING_KNOWN and question.what is InQuestion.SERVICE:
            result = self.checks.probe_service(mode, needs_verdict=of_content >= ALIKE)
            if result.finding is CheckFinding.RIGHT:
                self._rules.record_refused_probe(mode)
        return result

    def _forget_since_wrong(self) -> None:
        """Forget what was tried until now, and the answers that copies would be given; it is tried again at the end."""
        with self._lock:
            self._wrong_at = self.scheduler.clock()
            # First failures still wait for a service that works: they are tried again as soon as it does.
            self._waiting = [suspect for suspect in self._waiting if suspect.row is None]
            self._failed = {suspect.done.item.manifest_row: FailedTries() for suspect in self._waiting}
            self._rules.doubt_verdicts()
        if self.checks.verify.duplicates is not None:
            self.checks.verify.duplicates.forget()


def _hanging(location: str) -> Away:
    return Away(hanging_place(location), WHY_HANGS)


def _only_digest(in_question: Sequence[Finished]) -> str | None:
    """Return the digest of the audio that is in question, if it is the same in all rows."""
    digests = set[str | None]()
    for done in in_question:
        digests.add(None if done.read is None else done.read.sha256)
    if len(digests) > 1:
        return None
    return next(iter(digests), None)
