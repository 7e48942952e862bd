"""Whose fault a strange outcome is: what happened, what else was answered, and what becomes of the row and the leg."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from proofsweep.config.threads import StopSwitch
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ProofsweepError, ResourceShortage, ResultsError, RunMustStop
from proofsweep.domain.exchanges import Call, Exchange, Failure
from proofsweep.domain.items import Mode, Row, WorkItem
from proofsweep.domain.models import VerifyResponse
from proofsweep.domain.outcomes import Accepted, Answer, AudioRead, Failed, Finished, Outcome, outcome_of, word_for
from proofsweep.domain.reasons import Ineligible, Reason, about
from proofsweep.files.files import Files
from proofsweep.files.presence import Away
from proofsweep.pacing.call_queue import CallQueue
from proofsweep.pacing.pacer import Pacer
from proofsweep.pacing.scheduler import Scheduler
from proofsweep.verify import fault
from proofsweep.verify.attribution import Attribution
from proofsweep.verify.fault import ACCEPTED_ALIKE, ALIKE
from proofsweep.verify.probes import RIGHT, CheckFinding, Checks, KnownFiles, Result

from ..left_behind import exchange
from ..scripted_service import NOW


@dataclass(frozen=True, slots=True)
class What:
    """What happened to a file; `is_pair` is its mode, `folder` its root."""

    outcome: Outcome
    exchanges: Sequence[Exchange] = tuple(map(exchange, (Call.ASSET, Call.UPLOADS, Call.SLOT, Call.VERIFY)))
    is_pair: bool = False
    folder: str = "/c"
    audio: str = ""
    is_copy: bool = False


def rejected(verdict: str = "tampered") -> Outcome:
    return outcome_of(Answer(VerifyResponse(good=False, verdict=verdict), "d"))


def failed(call: Call, status: int | None, failure: Failure | None = None, reason: str = "http_500") -> What:
    return What(Failed(reason=reason, detail=""), [exchange(call, status, failure)] * ATTEMPTS)


ATTEMPTS = 20  # of one call in a try: so many are enough beside two files that were answered
ACCEPTED = Accepted(Answer(VerifyResponse(good=True, verdict="valid"), "d"))
VALID, PAIR_VALID, ELSEWHERE = What(ACCEPTED), What(ACCEPTED, is_pair=True), What(ACCEPTED, folder="/mnt/nas")
COPY, REFUSED = What(ACCEPTED, is_copy=True), What(rejected())
DOWN, UNFIT = failed(Call.VERIFY, 503), failed(Call.VERIFY, 422)
BLOCKED = replace(failed(Call.VERIFY, 403), exchanges=[exchange(Call.VERIFY, 403)])  # a 403 ends its try
STUBBORN = replace(DOWN, exchanges=[exchange(Call.VERIFY, 503)] * 5)
FLAKY = replace(VALID, exchanges=[exchange(Call.VERIFY, 503), *VALID.exchanges])
HEALS = [
    *(failed(call, 503) for call in (Call.UPLOADS, Call.SLOT, Call.VERIFY, Call.ASSET)),
    *(failed(call, None, Failure.TIMEOUT) for call in (Call.UPLOADS, Call.SLOT, Call.VERIFY)),
    failed(Call.VERIFY, None, Failure.CONNECTION),
    failed(Call.VERIFY, 200, Failure.BAD_ANSWER),
    failed(Call.UPLOADS, 403),
    failed(Call.VERIFY, 403),
    failed(Call.SLOT, 403),
    failed(Call.SLOT, 413),
    failed(Call.UPLOADS, 404),
    *(failed(Call.VERIFY, status) for status in (404, 409, 410)),
    What(Failed(reason="connection", detail=""), ()),
    What(Failed(reason=Reason.SOURCE_UNAVAILABLE, detail=""), [exchange(Call.ASSET, 503)] * ATTEMPTS, audio="proof:p"),
]
OF_CONTENT = [failed(Call.VERIFY, status) for status in (400, 413, 422)]
GONE = [
    *(What(Ineligible(reason, ""), ()) for reason in Reason if about(reason).may_be_outage),
    *(What(Failed(reason=each, detail=""), ()) for each in (Reason.SOURCE_UNAVAILABLE, Reason.SOURCE_CHANGED)),
]
MISSING = What(Ineligible(Reason.MISSING_AUDIO, ""), ())
PLAIN = [
    VALID,
    REFUSED,
    *(What(rejected(verdict)) for verdict in ("unregistered", "local_seal", "neverHeardOf")),
    *(What(Ineligible(reason, ""), ()) for reason in Reason if not about(reason).may_be_outage),
]

READ = AudioRead(audio_format="wav", size_bytes=8, version="v", sha256="d")
Step = tuple[int, What]
"""The row that was tried, and what happened. Each try begins a second after the one before, and takes a second."""
WRONG, NOTHING_KNOWN = Result(CheckFinding.WRONG, "It is down."), Result(CheckFinding.NOTHING_KNOWN)
KEY = Result(CheckFinding.WRONG, "The key is refused.", EndedBy.KEY_REFUSED)
ROWS_OF_FIFTY = [(row, REFUSED) for row in range(ALIKE)]
UNFITS = [(row, UNFIT) for row in range(ALIKE)]
REMAINS, TRIED_AGAIN, DOWN_ENDS, KEY_ENDS = "remains", "is tried again", "breaker", "key_refused"

# What happened; what the check at the end says, None if none is made; what becomes of row 0, or how the leg ends.
TABLE: list[tuple[list[Step], Result | None, str]] = [
    # Nothing is strange about these: the row is written at once, whatever else happens.
    *(([(0, what)], None, word_for(what.outcome)) for what in PLAIN),
    # F. A first failure that a wait may heal is tried again, once the service was seen to work since.
    ([(0, DOWN)], None, REMAINS),
    *(([(0, what), (1, VALID)], None, TRIED_AGAIN) for what in HEALS),
    ([(0, DOWN), (1, UNFIT)], None, REMAINS),
    ([(0, DOWN), (1, VALID), (0, VALID)], None, "accepted"),
    # Failed twice: its row is written after an answer to another file of its mode, whatever the answer is.
    *(([(0, what), (1, VALID), (0, what), (2, VALID)], None, "failed") for what in HEALS),
    ([(0, DOWN), (1, REFUSED), (0, DOWN), (2, REFUSED)], None, "failed"),
    # A second failure in another outage says as little: a file was answered before it, and none just after it.
    ([(0, DOWN), (1, VALID), (0, DOWN)], RIGHT, REMAINS),
    # Beside calls that failed for files which were answered, a failure says less: half of them, one bit.
    ([(0, DOWN), (1, FLAKY), (0, DOWN), (2, FLAKY)], None, REMAINS),
    ([(1, FLAKY), (0, STUBBORN), (2, FLAKY), (0, STUBBORN), (3, FLAKY)], None, REMAINS),
    ([(1, FLAKY), *(step for row in range(2, 8) for step in ((0, STUBBORN), (row, FLAKY)))], None, "failed"),
    # Few calls that came out right do not show that the next one would: beside three files, a failed call says little.
    ([(1, VALID), (0, BLOCKED), (2, VALID), (0, BLOCKED), (3, VALID)], None, REMAINS),
    ([(1, VALID), *(step for row in range(2, 13) for step in ((0, BLOCKED), (row, VALID)))], None, "failed"),
    # Where no other file is answered, the probe shows whether the service works, or what else is wrong.
    ([(0, DOWN), (0, DOWN)], RIGHT, REMAINS),
    ([(0, DOWN)] * 3, RIGHT, REMAINS),
    ([(0, DOWN)] * 4, RIGHT, "failed"),
    ([*[(0, DOWN)] * 4, (1, PAIR_VALID)], RIGHT, "failed"),
    ([*[(0, DOWN)] * 4, (1, COPY)], RIGHT, "failed"),
    ([(0, DOWN), (0, DOWN)], WRONG, DOWN_ENDS),
    ([(0, failed(Call.VERIFY, 403)), (0, failed(Call.VERIFY, 403))], KEY, KEY_ENDS),
    # What speaks of the content heals by no wait: it is not tried again, and is believed where the service judges.
    *(([(1, REFUSED), (0, what)], None, "failed") for what in OF_CONTENT),
    ([(1, VALID), *((row, UNFIT) for row in range(2, 10)), (0, UNFIT)], None, "failed"),
    ([(1, VALID), *((row, UNFIT) for row in range(2, 11)), (0, UNFIT), (11, REFUSED)], None, "failed"),
    ([(1, VALID), *((row, UNFIT) for row in range(2, 11)), (0, UNFIT)], RIGHT, "failed"),
    ([(1, VALID), *((row, UNFIT) for row in range(2, 11)), (0, UNFIT)], WRONG, DOWN_ENDS),
    ([(1, PAIR_VALID), (0, UNFIT)], RIGHT, "failed"),
    *(([(0, what), (1, VALID)], None, "failed") for what in OF_CONTENT),
    *(([(0, what)], RIGHT, "failed") for what in OF_CONTENT),
    *(([(0, what)], WRONG, DOWN_ENDS) for what in OF_CONTENT),
    # R. Fifty refusals alike in a row: the last ones wait for an acceptance of their mode, or for known files.
    ([(98, VALID), *ROWS_OF_FIFTY[1:], (0, REFUSED), (99, VALID)], None, "rejected"),
    ([*ROWS_OF_FIFTY[1:], (0, REFUSED), (99, PAIR_VALID)], RIGHT, "rejected"),
    ([*ROWS_OF_FIFTY[1:], (0, REFUSED), (99, What(rejected("audioChanged")))], RIGHT, "rejected"),
    ([*ROWS_OF_FIFTY[1:], (0, REFUSED)], NOTHING_KNOWN, "rejected"),
    ([*ROWS_OF_FIFTY[1:], (0, REFUSED)], WRONG, DOWN_ENDS),
    # Fewer, with another verdict or an acceptance among them, are believed.
    ([*ROWS_OF_FIFTY[2:], (0, REFUSED)], None, "rejected"),
    ([*ROWS_OF_FIFTY[1:25], (60, VALID), *ROWS_OF_FIFTY[25:], (0, REFUSED)], None, "rejected"),
    ([*ROWS_OF_FIFTY[1:25], (60, What(rejected("unknown"))), *ROWS_OF_FIFTY[25:], (0, REFUSED)], None, "rejected"),
    ([*ROWS_OF_FIFTY[1:], (0, What(rejected(), is_pair=True))], None, "rejected"),
    # R. A file cannot be read: another one of its root shows that the root is there, or those that were read before.
    *(([(0, what), (1, VALID)], None, word_for(what.outcome)) for what in GONE),
    *(([(0, what)], RIGHT, word_for(what.outcome)) for what in GONE),
    ([(0, MISSING), (1, REFUSED)], None, "ineligible"),
    ([(0, MISSING), (1, DOWN)], None, "ineligible"),
    ([(0, MISSING), (1, ELSEWHERE)], RIGHT, "ineligible"),
    ([(0, What(Ineligible(Reason.UNREADABLE_FOLDER, ""), (), audio="no file"))], RIGHT, "ineligible"),
    *(([(0, what)], WRONG, REMAINS) for what in GONE),
]


@dataclass
class World:
    """Time that a test moves, and what happened in it."""

    now: float = 1_000.0  # monotonic seconds; a rest moves them too
    results: list[Result] = field(default_factory=lambda: [RIGHT])  # how checks come out; the last one for ever
    checks: list[tuple[str, float]] = field(default_factory=list)  # which were made, and when
    held: list[bool] = field(default_factory=list)  # whether calls were held when each of them was made
    during: Callable[[], object] = lambda: None  # called while a check is made
    written: dict[int, str] = field(default_factory=dict)
    was_accepted: bool = False  # whether any bytes were accepted before
    errors: int = 0  # of the store of results, or of this machine, before a check can be made
    error: ProofsweepError = field(default_factory=lambda: ResultsError("The store is away."))
    forgotten: int = 0

    def __post_init__(self) -> None:
        self.stop = MovingSwitch(self)
        self.scheduler = Scheduler(CallQueue(Pacer(first_rate=1e6)), self.stop, clock=lambda: self.now)
        self.attribution = Attribution(
            checks=ScriptedChecks(self),
            scheduler=self.scheduler,
            stop=self.stop,
            mode=Mode.ONE_FILE,
            outage_seconds=60.0,
        )
        self.scheduler.on_open = self.attribution.restore

    def write(self, done: Finished, row: Row) -> None:
        assert row["manifest_row"] == done.item.manifest_row
        assert done.item.manifest_row not in self.written
        self.written[done.item.manifest_row] = word_for(done.outcome)

    def forget(self) -> None:
        self.forgotten += 1

    def fail_at_times(self) -> None:
        if self.errors:
            self.errors -= 1
            raise self.error

    def try_one(self, row: int, what: What, began_at: float | None = None) -> bool:
        """Let a try end after a second."""
        audio = what.audio or f"{what.folder}/{row}.wav"
        item = WorkItem(manifest_row=row, item_id="a", audio=audio, sidecar=f"{audio}.proof" if what.is_pair else None)
        read = None if what.outcome in [each.outcome for each in GONE] else READ
        done = Finished(item=item, outcome=what.outcome, started_at=NOW, finished_at=NOW, read=read)
        done = replace(done, original=done) if what.is_copy else replace(done, exchanges=what.exchanges)
        if row in self.deferred_rows and self.attribution.next_to_try_again() is None:
            self.attribution.begin_round()
        began_at = self.now if began_at is None else began_at
        self.now += 1.0
        is_written = self.attribution.admit(done, {"manifest_row": row}, began_at)
        self.now += 1.0
        return is_written

    def finish(self) -> None:
        if self.stop.reason is None:
            self.attribution.finish()

    @property
    def deferred_rows(self) -> set[int]:
        return self.attribution.deferred_rows

    @property
    def made(self) -> list[str]:
        return [what for what, _ in self.checks]

    @property
    def ended_by(self) -> str | None:
        return None if self.stop.reason is None else self.stop.reason.ended_by


class MovingSwitch(StopSwitch):
    """A switch whose rests take no time but the test's."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    def rest(self, seconds: float) -> None:
        if self.reason is None:
            self.world.now += max(0.0, seconds)
        self.check()


class ScriptedChecks(Checks):
    def __init__(self, world: World) -> None:
        trail: Any = SimpleNamespace(write=world.write)
        verify: Any = SimpleNamespace(duplicates=SimpleNamespace(forget=world.forget), files=Files())
        past: Any = SimpleNamespace(was_accepted=lambda *_: world.fail_at_times() or world.was_accepted)
        super().__init__(verify, trail, KnownFiles.of_catalog(Files(), "/c", past))
        object.__setattr__(self, "world", world)

    def probe_service(self, mode: Mode, *, needs_verdict: bool = False) -> Result:
        return self._result(f"probe {mode}{' for a verdict' if needs_verdict else ''}")

    def send_known(self, mode: Mode, refused: str | None = None) -> Result:
        del refused
        return self._result(f"known {mode}")

    def folders_away(self, in_question: Mapping[str, Sequence[Finished]]) -> dict[str, Away]:
        result = self._result(" ".join(["look", *in_question]))
        is_away = result.finding is CheckFinding.WRONG
        return {folder: Away(folder, result.why) for folder in in_question if is_away}

    def _result(self, what: str) -> Result:
        world = self.world
        world.fail_at_times()
        world.checks.append((what, world.now))
        world.held.append(world.scheduler.is_open)
        world.during()
        return world.results.pop(0) if len(world.results) > 1 else world.results[0]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """A world whose tries are a second apart, and so beside each other."""
    monkeypatch.setattr(fault, "_BESIDE_SECONDS", 2.5)
    return World()


def fate_of(world: World, row: int) -> str:
    again = world.attribution.next_to_try_again()
    if again is not None:
        return TRIED_AGAIN if again.manifest_row == row else f"row {again.manifest_row} is tried again"
    return world.ended_by or world.written.get(row, REMAINS)


@pytest.mark.parametrize(("steps", "check", "expected"), TABLE)
def test_what_becomes_of_a_row(world: World, steps: list[Step], check: Result | None, expected: str) -> None:
    """One row, one rule; the comments in the table say which. A check is made only where the table names one."""
    world.results = [RIGHT] if check is None else [check]

    try:
        for row, what in steps:
            world.try_one(row, what)
        if check is not None:
            world.finish()
    except RunMustStop:
        assert expected in {DOWN_ENDS, KEY_ENDS}

    assert fate_of(world, 0) == expected
    assert bool(world.checks) is (check is not None)
    assert (0 in world.deferred_rows) is (0 not in world.written)


@pytest.mark.parametrize(("result", "expected"), [(RIGHT, "rejected"), (NOTHING_KNOWN, "rejected"), (WRONG, DOWN_ENDS)])
def test_a_refusal_of_bytes_that_were_accepted_is_held_against_known_files(
    world: World, result: Result, expected: str
) -> None:
    """The registry may have been emptied. An acceptance of another file is evidence, and costs no call."""
    world.was_accepted, world.results = True, [result]

    first = world.try_one(0, REFUSED)
    world.try_one(1, VALID)
    believed = fate_of(world, 0)
    world.try_one(2, REFUSED)
    with contextlib.suppress(RunMustStop):
        world.finish()

    assert not first
    assert believed == "rejected"
    assert fate_of(world, 2) == expected
    assert set(world.made) == {"known one_file"}


def test_a_file_that_failed_is_not_tried_again_before_the_service_was_seen_to_work(world: World) -> None:
    """Both tries may meet one outage, and the service may be well right after it."""
    world.results = [WRONG, RIGHT]
    world.try_one(0, DOWN)

    waiting = world.attribution.begin_round()
    held_until = world.now
    world.try_one(0, VALID)

    assert (waiting, world.written, len(world.made)) == (set(), {0: "accepted"}, 2)
    assert held_until >= world.checks[1][1]


def test_an_answer_to_a_file_that_began_before_a_failure_ended_shows_nothing(world: World) -> None:
    """It may have been given just before the service went down. A refused content needs any verdict of the leg."""
    before = world.now
    world.try_one(0, UNFIT)
    world.try_one(1, MISSING)

    world.try_one(2, VALID, began_at=before)
    then = dict(world.written)
    world.try_one(3, VALID)

    assert then == {0: "failed", 2: "accepted"}
    assert world.written == {0: "failed", 1: "ineligible", 2: "accepted", 3: "accepted"}


def test_a_service_that_refuses_nothing_is_sent_silence_once(world: World) -> None:
    """After a hundred acceptances nothing else tells; one refusal would have."""
    world.try_one(0, What(ACCEPTED, is_pair=True))
    for row in range(1, 2 * ACCEPTED_ALIKE):
        world.try_one(row, VALID)
    once = list(world.made)
    for row in range(1_000, 1_000 + 2 * ACCEPTED_ALIKE):
        world.try_one(row, What(ACCEPTED if row > 1_000 else rejected(), is_pair=True))

    assert once == world.made == ["probe one_file"]


def test_many_that_wait_are_checked_before_the_end(world: World) -> None:
    """The memory of a process does not grow with a catalog, and each check is followed by twice as many."""
    for row in range(1_000):
        world.try_one(row, UNFIT)

    assert len(world.made) == 4
    assert len(world.written) == 50 + 100 + 200 + 400


@pytest.mark.parametrize(
    ("steps", "results", "made"),
    [
        ([(0, DOWN)] * 4, [RIGHT], ["probe one_file"]),
        ([(0, replace(DOWN, is_pair=True))] * 4, [RIGHT], ["probe legacy_pair"]),
        ([(0, UNFIT)], [RIGHT], ["known one_file"]),
        (UNFITS[1:], [NOTHING_KNOWN, RIGHT], ["known one_file", "probe one_file"]),
        (UNFITS, [NOTHING_KNOWN, RIGHT], ["known one_file", "probe one_file for a verdict"]),
        ([(0, MISSING)], [RIGHT], ["look /c"]),
    ],
)
def test_each_doubt_has_its_own_check(world: World, steps: list[Step], results: list[Result], made: list[str]) -> None:
    """The probe is sent in the mode of what failed; where content is refused, known files tell more.

    Where so many have a 422, another one shows nothing: the sidecar's wire name may be wrong.
    """
    world.results = results
    for row, what in steps:
        world.try_one(row, what)

    world.finish()

    assert list(dict.fromkeys(world.made)) == made
    assert len(world.written) == len({row for row, _ in steps})


@pytest.mark.parametrize(("results", "ended_by"), [([WRONG], DOWN_ENDS), ([KEY, NOTHING_KNOWN], KEY_ENDS)])
def test_while_checks_come_out_wrong_only_they_go_and_their_waits_double(
    world: World, results: list[Result], ended_by: str
) -> None:
    """Until `outage_seconds` are over; then the leg ends as the last wrong one showed, whatever tells nothing since."""
    (why,) = (result.why for result in results if result.why)
    world.results = results
    world.try_one(0, UNFIT)
    began = world.now

    with pytest.raises(RunMustStop, match=why):
        world.finish()

    assert list(dict.fromkeys(when - began for _, when in world.checks)) == [0.0, 10.0, 30.0, 60.0]
    assert (world.held[0], set(world.held[1:])) == (False, {True})
    assert (world.written, world.deferred_rows, world.ended_by) == ({}, {0}, ended_by)


def test_what_failed_in_an_outage_is_tried_again_when_it_is_over(world: World) -> None:
    """It is not written, nor are answers of that time given to copies; a later try counts."""
    world.results = [WRONG, WRONG, RIGHT]
    before = world.now
    world.try_one(0, UNFIT)

    world.finish()
    world.try_one(1, UNFIT, began_at=before)
    world.try_one(2, VALID)
    then = dict(world.written)
    world.try_one(0, UNFIT)
    world.try_one(3, VALID)

    assert (then, world.forgotten, world.scheduler.is_open) == ({2: "accepted"}, 3, False)
    assert (world.written, world.deferred_rows) == ({0: "failed", 2: "accepted", 3: "accepted"}, {1})


def test_a_refusal_from_before_a_check_that_came_out_wrong_is_tried_again(world: World) -> None:
    """Also one that speaks of the file, and so waits for no evidence: the registry was wrong when it was given."""
    world.results = [WRONG, RIGHT]
    before = world.now
    world.try_one(0, UNFIT)
    world.finish()

    assert not world.try_one(1, REFUSED, began_at=before)
    assert world.try_one(2, REFUSED)
    assert world.try_one(3, VALID, began_at=before)

    assert (world.written, world.deferred_rows) == ({2: "rejected", 3: "accepted"}, {0, 1})


def test_a_check_decides_only_about_tries_that_ended_before_it_began(world: World) -> None:
    """What fails while it is made waits for the next one."""

    def fail_meanwhile() -> None:
        world.during = lambda: None
        world.try_one(1, MISSING)

    world.during = fail_meanwhile
    world.try_one(0, MISSING)

    world.finish()

    assert world.written == {0: "ineligible", 1: "ineligible"}
    assert len(world.made) == 2


def test_files_of_a_root_that_is_away_wait_and_others_go_on(world: World) -> None:
    """When it is back before `outage_seconds` are over, they are tried; else they remain, and the leg says why."""
    world.results = [Result(CheckFinding.WRONG, "it is empty")]
    world.try_one(0, MISSING)
    world.finish()
    item = WorkItem(manifest_row=9, item_id="b", audio="/c/b.wav")
    may_try = (
        world.attribution.may_try(item),
        world.attribution.may_try(WorkItem(manifest_row=9, item_id="b", audio="/elsewhere/b.wav")),
    )
    sentence, given_up_at = world.attribution.sentence(1), world.now
    world.finish()  # another round does not wait again
    waited_again = world.now - given_up_at
    world.results = [RIGHT]
    world.finish()

    assert waited_again == 0
    assert may_try == (False, True)
    assert sentence.startswith("1 files remain. /c is away: it is empty. Is it mounted? Files in it: 2.")
    assert world.attribution.may_try(item)
    assert (world.written, world.ended_by, set(world.held)) == ({}, None, {False})


@pytest.mark.parametrize(("errors", "ended_by", "seconds"), [(5, None, 5.0), (1_000, "breaker", 60.0)])
@pytest.mark.parametrize(
    ("what", "error"),
    [
        (UNFIT, ResultsError("Away.")),
        (REFUSED, ResultsError("Away.")),
        (MISSING, ResourceShortage("Away.", reason=Reason.SOURCE_UNAVAILABLE)),
    ],
)
def test_what_cannot_be_judged_now_is_judged_later(
    world: World, *, what: What, error: ProofsweepError, errors: int, ended_by: str | None, seconds: float
) -> None:
    """A store that fails, or files that cannot be opened here, are tried once a second for a while; nothing is written.

    Then the leg ends.
    """
    world.error, world.errors, began = error, errors, world.now

    world.try_one(0, what)
    with contextlib.suppress(RunMustStop):
        world.finish()

    assert (world.now - began, world.ended_by) == (2.0 + seconds, ended_by)
    assert bool(world.written) is (ended_by is None)
    assert ended_by is None or str(world.stop.reason).endswith(": Away.")


def test_a_leg_that_ends_believes_nothing_more(world: World) -> None:
    """Its rows remain for another leg."""
    world.try_one(0, UNFIT)
    world.stop.pull(RunMustStop("Enough.", ended_by="cancelled"))

    with pytest.raises(RunMustStop):
        world.attribution.finish()

    assert world.written == {}


def let_calls_fail(world: World, status: int = 503) -> None:
    for _ in range(12):
        world.scheduler.record(exchange(Call.VERIFY, status))
        world.now += 0.2


def test_calls_that_fail_for_many_wait_until_a_probe_is_answered(world: World) -> None:
    """An answer holds for a while; a circuit that opens later waits again. What failed before is tried again then."""
    world.results = [WRONG, RIGHT]
    world.try_one(0, DOWN)
    let_calls_fail(world)
    let_calls_fail(world)
    soon = list(world.held)
    world.now += 60.0
    let_calls_fail(world)

    assert soon == [True, True]
    assert (world.made, world.scheduler.is_open) == (["probe one_file"] * 3, False)
    assert fate_of(world, 0) == TRIED_AGAIN


def test_a_check_that_asks_nobody_closes_no_circuit(world: World) -> None:
    """Many are refused alike, and no file is known that must be accepted; meanwhile calls fail for many."""
    world.results, world.scheduler.on_open = [NOTHING_KNOWN], lambda: None
    for row, what in ROWS_OF_FIFTY:
        world.try_one(row, what)
    let_calls_fail(world)

    world.finish()

    assert (world.made, world.scheduler.is_open) == (["known one_file"], True)
    assert set(world.written.values()) == {"rejected"}


def test_only_silence_that_was_refused_shows_that_the_service_refuses(world: World) -> None:
    """Known files that are accepted do not; after a hundred acceptances silence is sent all the same."""
    for row in range(ACCEPTED_ALIKE - 1):
        world.try_one(row, VALID)
    for row in range(200, 210):
        world.try_one(row, UNFIT)
    world.finish()
    made = list(world.made)

    world.try_one(ACCEPTED_ALIKE, VALID)

    assert (made, world.made[len(made) :]) == (["known one_file"], ["probe one_file"])
