"""A leg is begun, kept alive, tells of its progress, and is settled however the work ends."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from pydantic import SecretStr

from proofsweep.client.keys import fingerprint
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError, RunIsActive, RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Mode, Row
from proofsweep.domain.runs import Plan
from proofsweep.pacing.scheduler import RateStatus, Scheduler
from proofsweep.store import layout
from proofsweep.store.heartbeat import LegProgress, together
from proofsweep.store.journal import CompletedRows
from proofsweep.store.log import EntryKind, Log
from proofsweep.store.parts import Results
from proofsweep.verify import attempt, commit
from proofsweep.verify.attempt import (
    leg_session,
    open_leg,
    recover_last_legs,
    unfinished_partitions,
)
from proofsweep.verify.budget import Budget
from proofsweep.verify.commit import LegParts, commit_leg
from proofsweep.verify.leg import Heartbeat, Leg, ProgressMeter
from proofsweep.verify.worker import verify_batch

from ...worlds import audited_store
from ..conftest import LegBuilder
from ..left_behind import exchange, journal_rows, let_holder_die, rows_of, write_journal, write_part
from ..scripted_service import NOW, Scripted, ScriptedService

RESET = NOW + timedelta(days=3)
BEGUN: Row = {"key_fingerprint": "abc", "flow_run_id": "flow-7", "quota_before": 1_000, "service_version": "7"}
BEGUN |= {"service_commit": "c0ffee", "service_deployed_at": NOW}


@dataclass
class Run:
    """A run of four files, whose next leg a test begins."""

    new_leg: LegBuilder
    plan: Plan

    @property
    def results(self) -> Results:
        return self.new_leg.results

    def work(self, act: Callable[[Leg], object] = lambda _: None) -> None:
        """Begin a leg, do something in it, and verify all that remains."""
        leg = self.new_leg.leg(self.plan, open_leg(self.results, self.plan, lambda: NOW, {}))
        leg.budget.record_reading(1_000, RESET)
        with leg_session(leg, BEGUN, lambda: NOW):
            act(leg)
            verify_batch(leg)

    def begin_next(self) -> int:
        return open_leg(self.results, self.plan, lambda: NOW, BEGUN | {"quota_before": 900}).number

    def receipt(self, leg: int = 1) -> dict[str, object]:
        return self.results.receipts(self.plan).get(leg, {})

    def ended(self) -> list[tuple[str, object]]:
        """Return the legs that have ended in the log, in its order."""
        log = Log(self.results.store)
        entries = log.entries(1, log.newest())
        return [(each.run_id, each.facts["leg"]) for each in entries if each.kind is EntryKind.ENDED]

    def rows(self) -> list[dict[str, object]]:
        """Read its rows of `runs`."""
        return self.results.table("runs", self.results.parts_of("runs", self.plan)).to_pylist()

    def row(self) -> dict[str, object]:
        (row,) = self.rows()
        return row


@pytest.fixture
def run(new_leg: LegBuilder) -> Run:
    return Run(new_leg, new_leg.plan(4))


def end_by(ended_by: str) -> Callable[[Leg], None]:
    return lambda leg: leg.stop.pull(RunMustStop("Enough.", ended_by=ended_by))


def test_the_row_of_a_leg_says_how_it_began_and_ended(run: Run) -> None:
    """What the service said, the quota before and after, the key's fingerprint and the flow run."""
    run.work(lambda _leg: None)

    row = run.row()
    told = {"quota_before": 1_000, "quota_after": 900, "flow_run_id": "flow-7"}
    told |= {"key_fingerprint": fingerprint(SecretStr("pk_test"))}  # of the one in use at the end
    told |= {"service_version": "7", "service_commit": "c0ffee", "service_deployed_at": NOW}
    told |= {"started_at": NOW, "finished_at": NOW, "ended_by": "complete", "accepted": 4}
    assert {name: row[name] for name in told} == told
    assert run.receipt()["quota_reset"] == str(RESET)


@pytest.mark.parametrize(("is_refused", "rate_learned"), [(False, None), (True, 500.0)])
def test_a_rate_that_was_only_remembered_is_not_told_as_learned(
    run: Run, *, is_refused: bool, rate_learned: float | None
) -> None:
    """Each leg would pass an old rate on to the next one, for ever and without one 429."""

    def work(leg: Leg) -> None:
        leg.scheduler.remember(500.0)
        if is_refused:
            ticket = leg.scheduler.wait_turn(Call.VERIFY, object())
            leg.scheduler.pause_all(exchange(Call.VERIFY, 429), ticket, 0.0)

    run.work(work)

    assert run.row()["rate_learned"] == rate_learned


def test_a_store_that_fails_once_before_the_first_file_is_waited_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its few files are read with what is finished: the tasks of a small run need no store any more."""
    items, failures = Results.items, [ResultsError("It is away.")]

    def fail_once(results: Results, *given: object) -> object:
        if failures:
            raise failures.pop()
        return items(results, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Results, "items", fail_once)
    monkeypatch.setattr(attempt, "_READ_AGAIN_SECONDS", 0.01)

    run.work(lambda leg: leg.completed.batches())

    assert failures == []
    assert run.row()["ended_by"] == "complete"


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_work_that_breaks_off_ends_the_leg_as_an_error(run: Run, error: type[BaseException]) -> None:
    """It is raised again; what was finished is published, and the run can be resumed."""

    def break_off(leg: Leg) -> None:
        verify_batch(leg, leg.completed.batches()[1])
        raise error

    with pytest.raises(error):
        run.work(break_off)

    receipt = run.receipt()
    assert (receipt["ended_by"], receipt["why"]) == ("error", "The work broke off.")
    assert rows_of(run.results, run.plan) == [1]


@pytest.mark.parametrize(
    ("ended_by", "quota_after", "asks"),
    [("cancelled", 900, 1), ("window", 900, 1), ("quota", 0, 0), ("breaker", None, 0), ("key_refused", None, 0)],
)
def test_the_quota_in_the_end_is_asked_for_where_there_will_be_an_answer(
    run: Run, service: ScriptedService, ended_by: str, quota_after: int | None, asks: int
) -> None:
    """A service that said that nothing is left has said so."""
    run.work(end_by(ended_by))

    assert run.row()["quota_after"] == quota_after
    assert service.calls.count(Call.USAGE) == asks


def test_a_leg_without_files_to_send_checks_the_service_without_a_sidecar(new_leg: LegBuilder) -> None:
    """Its wire name may not be set; files that were missing may be found and fail."""
    plan = replace(new_leg.plan(4), eligible=0)

    assert new_leg.leg(plan).attribution.mode is Mode.ONE_FILE


def test_a_leg_gives_signs_of_life_while_the_quota_is_read_in_the_end(run: Run, service: ScriptedService) -> None:
    """The call may take a minute; others would take the leg over."""
    alive = list[bool]()

    def note(call: Call) -> None:
        if call is Call.USAGE:
            alive.append(any(thread.name == "heartbeat" for thread in threading.enumerate()))

    service.on_call = note

    run.work()

    assert alive == [True]


def test_a_leg_that_was_stopped_waits_for_the_last_reading_no_longer_than_its_drain(
    run: Run, service: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proofsweep.verify.leg._COUNT_SECONDS", 0.01)
    is_aborted, seen = threading.Event(), list[bool]()
    service.on_call = lambda call: call is Call.USAGE and seen.append(is_aborted.wait(10.0))

    def stop(leg: Leg) -> None:
        leg.heartbeat.drain_seconds, leg.heartbeat.abort = 0.1, is_aborted.set
        leg.stop.pull(RunMustStop("The window closed.", ended_by=EndedBy.WINDOW))

    run.work(stop)

    assert seen == [True]


def test_what_was_left_of_a_quota_is_told_where_a_spent_one_refuses_to_say_it(
    run: Run, service: ScriptedService
) -> None:
    """Its last reading counts, less the calls since, of which the one that was refused is the last."""

    def run_out(leg: Leg) -> None:
        service.usual[Call.USAGE] = Scripted(status=429, retry_after=86_400.0, remaining=0)
        leg.budget.record_reading(7, None)
        leg.budget.ran_out = RunMustStop("The quota is spent.", ended_by="quota")
        leg.stop.pull(leg.budget.ran_out)

    run.work(run_out)

    assert run.row()["quota_after"] == 6


def test_the_end_writes_what_is_in_memory_and_names_the_rows_in_doubt(run: Run, service: ScriptedService) -> None:
    """Exchanges of no row too, of which the last is that of the quota; the next leg tries last what was in doubt."""
    run.new_leg.service.unattributed.append(exchange(Call.HEALTH))
    service.script[Call.VERIFY] = [Scripted(status=422), Scripted(status=503), Scripted(status=503)]

    def two_files(leg: Leg) -> None:
        verify_batch(leg, range(1, 3))
        run.new_leg.service.unattributed.append(exchange(Call.HEALTH))
        end_by("cancelled")(leg)

    run.work(two_files)

    assert run.receipt()["in_doubt"] == [1, 2]
    assert run.row()["remaining"] == 4
    assert rows_of(run.results, run.plan, "exchanges").count(None) == 3


@pytest.mark.parametrize(
    ("thread", "kind", "work"), [("heartbeat", Heartbeat, "keep"), ("quota", Budget, "keep_probing")]
)
def test_a_helper_thread_that_fails_ends_the_leg(
    run: Run, monkeypatch: pytest.MonkeyPatch, thread: str, kind: type, work: str
) -> None:
    """Without it the leg would be unwatched, or overspend: the rest remains, and the error is raised."""
    monkeypatch.setattr(kind, work, lambda *_: 1 / 0)

    def wait_for_the_end(leg: Leg) -> None:
        with pytest.raises(RunMustStop):
            leg.stop.rest(10.0)

    with pytest.raises(ZeroDivisionError):
        run.work(wait_for_the_end)

    receipt = run.receipt()
    assert receipt["ended_by"] == "error"
    assert receipt["why"] == f"The thread {thread} failed through a mistake of this program (ZeroDivisionError)."
    assert run.row()["remaining"] == 4


def test_all_dead_legs_are_settled_in_order(run: Run) -> None:
    """Each journal becomes a part of its leg, its facts a row in `runs`, and the ending is `killed`."""
    for leg, numbers in enumerate(([2, 0], [3]), start=1):
        run.begin_next()
        write_journal(run.results, run.plan, leg, numbers)
        let_holder_die(run.results, run.plan, leg)

    leg = run.begin_next()

    cells = ("ended_by", "accepted", "remaining", "quota_before")
    rows = [tuple(row[name] for name in cells) for row in run.rows()]
    assert (leg, rows_of(run.results, run.plan)) == (3, [0, 2, 3])
    assert [run.receipt(number)["ended_by"] for number in (1, 2)] == ["killed"] * 2
    assert rows == [("killed", 2, 2, 900), ("killed", 1, 1, 900)]
    assert journal_rows(run.results, run.plan, 1) == []
    assert run.ended() == [(run.plan.run_id, number) for number in (1, 2)]


@pytest.mark.parametrize("killed_at", ["parts.close", "finish_leg", "delete_journal"])
def test_what_a_killed_leg_of_another_run_left_comes_before_the_next(
    run: Run, monkeypatch: pytest.MonkeyPatch, killed_at: str
) -> None:
    """Nobody goes on with that run: whoever begins next ends its leg, and its row in `runs` comes too."""
    whole = audited_store.planned(run.results, "20201103T120000Z_000aa", "q")
    killed = (LegParts, "close") if killed_at == "parts.close" else (commit, killed_at)
    with monkeypatch.context() as patched:
        patched.setattr(*killed, _killed)
        with pytest.raises(KeyboardInterrupt):
            audited_store.end_leg(run.results, whole, "q", [0])
    let_holder_die(run.results, whole, 1)

    run.work()

    assert run.ended() == [(run_id, 1) for run_id in (whole.run_id, run.plan.run_id)]
    assert run.results.store.names(layout.table_folder("runs", whole.run_date))
    assert rows_of(run.results, whole) == [0]
    assert journal_rows(run.results, whole, 1) == []


def test_a_run_that_cannot_be_ended_stops_nobody_else(run: Run) -> None:
    """The plan of another run's killed leg is gone."""
    other = audited_store.planned(run.results, "20201103T120000Z_000aa", "q")
    run.new_leg.legs(other).begin({})
    let_holder_die(run.results, other, 1)
    run.results.store.delete(layout.plan_name(other.run_id))

    run.work()

    assert run.ended() == [(run.plan.run_id, 1)]


def test_what_a_frozen_process_journals_after_its_end_is_deleted_by_the_next_leg(run: Run) -> None:
    run.begin_next()
    let_holder_die(run.results, run.plan, 1)
    recover_last_legs(run.results, run.plan, lambda: NOW)
    write_journal(run.results, run.plan, 1, [1, 2], "more")

    run.work()

    assert journal_rows(run.results, run.plan, 1) == []
    assert [row["accepted"] for row in run.rows()] == [0, 4]


def test_legs_of_other_partitions_are_left_alone(run: Run) -> None:
    """Of two partitions, the first one's leg was killed, and the second one's works: a leg of the first goes on."""
    results, plan = run.results, replace(run.plan, partitions=2)
    for leg, row in ((1, 0), (2, 2)):
        open_leg(results, plan, lambda: NOW, {}, leg - 1)
        write_journal(results, plan, leg, [row])
    let_holder_die(results, plan, 1)
    assert unfinished_partitions(results, plan) == [0, 1]

    leg = open_leg(results, plan, lambda: NOW, {}).number

    first, second = (CompletedRows(results, plan, partition) for partition in (0, 1))
    first.read()
    second.read()
    assert (leg, rows_of(results, plan), journal_rows(results, plan, 2)) == (3, [0], [2])
    assert ([item.manifest_row for item in first.items()], first.before) == ([1], 1)
    assert ([item.manifest_row for item in second.items()], second.remaining) == ([3], 1)
    with pytest.raises(RunIsActive, match=r"Leg [23] of run"):
        recover_last_legs(results, plan, lambda: NOW)


def test_a_run_that_had_begun_is_not_superseded_by_another_at_work(run: Run) -> None:
    """What its killed leg had finished is published, and it goes on when the other run is over."""
    results, plan = run.results, run.plan
    run.begin_next()
    write_journal(results, plan, 1, [0, 1])
    let_holder_die(results, plan, 1)
    rival = replace(plan, run_id="20261120T130000Z_000bb", read_after=results.log.runs().through)
    results.write_plan(rival)
    held = open_leg(results, rival, lambda: NOW, {})

    with pytest.raises(RunIsActive):
        open_leg(results, plan, lambda: NOW, {})
    commit_leg(LegParts(results, rival, held.number), EndedBy.CANCELLED, {})

    assert open_leg(results, plan, lambda: NOW, {}).number == 2
    assert run.receipt(1)["ended_by"] == "killed"
    assert rows_of(results, plan) == [0, 1]
    assert journal_rows(results, plan, 1) == []


@pytest.mark.parametrize("is_over", [False, True])
def test_a_run_that_never_began_is_superseded_by_one_that_began_since_it_was_read(run: Run, *, is_over: bool) -> None:
    """That one may have sent the same files, also if it is over; and whoever is told so is told it again."""
    results, plan = run.results, run.plan
    rival = replace(plan, run_id="20261120T110000Z_000bb")
    results.write_plan(rival)
    held = open_leg(results, rival, lambda: NOW, {})
    if is_over:
        commit_leg(LegParts(results, rival, held.number), EndedBy.CANCELLED, {})

    with pytest.raises(RunIsActive, match=rival.run_id):
        open_leg(results, plan, lambda: NOW, {})
    with pytest.raises(ResultsError, match="was superseded"):
        open_leg(results, plan, lambda: NOW, {})

    assert run.receipt(1)["ended_by"] == "superseded"
    assert [row["ended_by"] for row in run.rows()] == ["superseded"]


def test_who_is_killed_while_it_supersedes_its_run_leaves_it_superseded(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody goes on with it: its files would be sent twice."""
    results, plan = run.results, run.plan
    rival = replace(plan, run_id="20261120T110000Z_000bb")
    results.write_plan(rival)
    open_leg(results, rival, lambda: NOW, {})
    with monkeypatch.context() as patched:
        patched.setattr(attempt, "commit_leg", _killed)
        with pytest.raises(KeyboardInterrupt):
            open_leg(results, plan, lambda: NOW, {})
    let_holder_die(results, plan, 1)

    with pytest.raises(ResultsError, match="was superseded"):
        open_leg(results, plan, lambda: NOW, {})

    assert run.receipt(1)["ended_by"] == "superseded"


def _killed(*_arguments: object, **_more: object) -> None:
    raise KeyboardInterrupt


def test_earlier_legs_are_asked_only_once_the_work_has_begun(results: Results, new_leg: LegBuilder) -> None:
    """A leg that died may not be settled before: what its journal held would be verified again."""
    plan = new_leg.plan(6, batch_items=3)
    leg = new_leg.leg(plan)
    leg.completed = CompletedRows(results, plan)
    before = leg.progress
    write_part(results, leg.plan, 1, 0, [1, 2])  # the dead leg is settled

    leg.completed.read()

    assert before.finished_before is None
    assert leg.completed.remaining == 4
    assert (leg.progress.finished_before, leg.progress.waiting) == (2, "")


def test_a_leg_says_first_what_is_most_in_the_way(new_leg: LegBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    """An outage before a pause, and the request to stop before an outage."""
    leg = new_leg.leg(new_leg.plan(9))
    assert leg.completed.remaining == 9

    lanes = iter([*({"pause_seconds": 60.0, "is_outage": outage} for outage in (False, True)), {}])
    monkeypatch.setattr(Scheduler, "status", lambda _: RateStatus(5.0, **next(lanes)))
    seen = [leg.progress.waiting for _ in range(2)]
    leg.stop.pull(RunMustStop("It was asked to.", ended_by=EndedBy.CANCELLED))
    seen.append(leg.progress.waiting)

    assert seen == [
        f"the service asked for a pause until {NOW + timedelta(minutes=1):%H:%M:%S} UTC",
        "the service or the files seem to be away, so only a check is sent now and then",
        "stopping, 0 files in flight: It was asked to.",
    ]


def test_the_rate_is_that_of_the_last_minute() -> None:
    """A slow start does not count for hours; before a second count nothing is known."""
    meter = ProgressMeter()
    first = meter.rate(0.0, 0)

    for second in range(1, 600):
        meter.rate(float(second), 0)
    rates = [meter.rate(float(second), 2 * (second - 600)) for second in range(600, 661)]

    assert (first, rates[-1]) == (None, 2.0)


def test_a_run_is_as_far_as_its_legs_together() -> None:
    """A lane is shared, so each knows the whole of it. A run waits for what all of its legs wait for."""
    told = LegProgress(rows=50, finished_before=10, counts={"accepted": 3}, rate=2.0, calls=6, lane_rate=9.0)
    paused = replace(told, quota_left=70, waiting="a pause", seconds_left=30.0)

    both = together(100, 20, [told, paused])

    assert (both.rows, both.finished, both.rate, both.calls, both.lane_rate) == (100, 26, 4.0, 12, 9.0)
    assert (both.quota_left, both.seconds_left, both.waiting) == (70, 30.0, "")
    assert together(100, 20, [paused, paused]).waiting == "a pause"
