"""Faults, kills, stalls, a spent quota, resumes, two legs at once, a leg that goes on after a take-over: in any order.

Hypothesis draws what happens to a run. After each step no row may be wrong or doubled; at the end all rows are there.
`make soak` does sixty runs, from a seed that it prints; the tests have tests/world for it.
"""

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import chain

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from ..servers.foreign_service import Answer
from ..worlds.command_world import Row
from ..worlds.foreign_world import ForeignWorld
from .bare_runner import Runner
from .drawn_faults import DISTURBANCES, FAULTS, HTML, REFUSALS, Disturbance

STEPS = 5
SOAK_LEGS = int(os.environ.get("PROOFSWEEP_SOAK_LEGS", "0"))
VERDICTS = ("valid", "tampered", "valid", "audioChanged", "valid", "local_seal") * 4
QUICK = {
    "PACE__WORKERS": "4",
    "PACE__FIRST_RATE": "100",
    "PACE__LONGEST_PAUSE_SECONDS": "0.3",
    "RETRY__ATTEMPTS": "3",
    "RETRY__BREAKER_SECONDS": "0.3",
    "RETRY__LONGEST_WAIT_SECONDS": "0.05",
    "TIMEOUTS__READ_SECONDS": "2.5",
}
KILLED = -signal.SIGKILL
KILL_POINTS = st.builds("{} {}".format, st.integers(1, 14), st.sampled_from(["before", "half", "after"]))
LONGEST_STALL_SECONDS = 5.0
"""The timeout of a call: a machine may be stopped until its calls are over their limit."""
MOMENTS = st.floats(0.05, 0.6)
"""Seconds after the start of a leg at which something happens to it: any moment must be right."""


@dataclass
class Stage:
    """What all drawn runs share, and the counts of what happened to them."""

    world: ForeignWorld
    catalog: str
    runner: Runner
    other_runner: Runner
    endings: Counter[str] = field(default_factory=Counter)
    happened: Counter[str] = field(default_factory=Counter)


@contextmanager
def stalling(process: int, chance: random.Random) -> Iterator[list[float]]:
    """Stop a process at random moments, each time for a random time; yield the moments of its stops."""
    over, stops = threading.Event(), list[float]()

    def stop_now_and_then() -> None:
        with suppress(ProcessLookupError):
            while not over.wait(chance.uniform(0.06, 0.54)):
                stops.append(time.monotonic())
                os.kill(process, signal.SIGSTOP)
                over.wait(chance.uniform(0.2, LONGEST_STALL_SECONDS))
                os.kill(process, signal.SIGCONT)

    thread = threading.Thread(target=stop_now_and_then)
    thread.start()
    try:
        yield stops
    finally:
        over.set()
        thread.join()


class DisturbedRun(RuleBasedStateMachine):
    """One run, and what may happen to it."""

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self.stage, self.service = stage, stage.world.service
        self.active: set[str] = set()
        self.charge_limit: int | None = None
        self.is_complete = False
        self.end_faults()
        assert stage.runner.do(f"plan {stage.catalog}") == 0
        self.run_id = stage.world.runs[-1]

    @rule(disturbances=DISTURBANCES, kill=st.just("") | KILL_POINTS)
    @precondition(lambda self: not self.is_complete)
    def a_leg_runs(self, disturbances: list[Disturbance], kill: str) -> None:
        """It ends in a way that its faults allow, or is killed at a write."""
        self.set_faults(disturbances)
        before = len(self.legs())
        self.note("kill" if kill else "leg", code := self.stage.runner.do(f"leg {self.run_id} {kill}"))
        if len(self.legs()) > before and code != KILLED:
            assert self.legs()[-1] in self.plausible_endings(), f"{self.legs()} under {self.active}"
        assert code in {0, 3, KILLED if kill else 0}, f"a leg under {self.active} ended with {code}"

    @rule(disturbances=DISTURBANCES, seed=st.integers(0, 10**6))
    @precondition(lambda self: not self.is_complete)
    def a_leg_runs_on_a_machine_that_stalls(self, disturbances: list[Disturbance], seed: int) -> None:
        """Its process is stopped at random moments; after a stop its calls may be over their time limit."""
        self.set_faults(disturbances)
        self.active.add("a machine that stalls")
        with stalling(self.stage.runner.begin(f"leg {self.run_id}"), random.Random(seed)) as stops:  # noqa: S311
            code = self.stage.runner.exit_code()
        self.note("leg with stalls" if stops else "leg", code)
        assert code in {0, 3}, f"a leg under {self.active} ended with {code}"

    @rule(moment=MOMENTS)
    @precondition(lambda self: not self.is_complete)
    def two_resume_at_once(self, moment: float) -> None:
        """At least one of them works on the run."""
        self.set_faults([])
        self.stage.runner.begin(f"leg {self.run_id}")
        time.sleep(moment / 10)
        self.stage.other_runner.begin(f"leg {self.run_id}")
        codes = [self.stage.runner.exit_code(), self.stage.other_runner.exit_code()]
        for code in codes:
            self.note("one of two", code)
        assert set(codes) <= {0, 3, 9}, codes
        assert codes != [9, 9]

    @rule(moment=MOMENTS)
    @precondition(lambda self: not self.is_complete)
    def a_stopped_leg_continues_after_a_take_over(self, moment: float) -> None:
        """It stopped for so long that another leg took over; then both work, and neither disturbs the other."""
        self.set_faults([])
        process = self.stage.runner.begin(f"leg {self.run_id}")
        time.sleep(moment)
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGSTOP)
        self.stage.other_runner.begin(f"seize {self.run_id}")
        time.sleep(moment)
        self.no_row_is_wrong()
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)
        self.note("taken over", continued := self.stage.runner.exit_code())
        self.note("successor", successor := self.stage.other_runner.exit_code())
        assert {successor, continued} <= {0, 3, 9}, (successor, continued)

    @rule(calls=st.integers(0, 40))
    def the_quota_is_about_to_end(self, calls: int) -> None:
        """The service answers only so many more calls."""
        self.charge_limit = self.service.charged + calls

    @rule()
    def the_quota_is_refilled(self) -> None:
        """The quota is as at the start of a month."""
        self.charge_limit = None

    @invariant()
    def no_row_is_wrong(self) -> None:
        """Read as an ordinary reader does: no row twice, none of another catalog, none accepted without an answer."""
        rows = self.rows()
        numbers = [row["manifest_row"] for row in rows]
        accepted = [row for row in rows if row["accepted"]]
        verify_ids = {row["verify_request_id"] for row in accepted}
        assert len(set(numbers)) == len(numbers)
        assert set(numbers) <= set(range(len(VERDICTS)))
        assert all(VERDICTS[row["manifest_row"]] == "valid" == row["verdict"] and row["good"] for row in accepted)
        assert verify_ids <= self.service.ids(calls={"verify"})
        assert len(verify_ids) == len(accepted)

    def teardown(self) -> None:
        """End all faults and complete the run: each row is there once."""
        self.end_faults()
        for _ in range(3):
            if not self.is_complete:
                self.note("last leg", self.stage.runner.do(f"leg {self.run_id}"))
        self.no_row_is_wrong()
        assert sorted(row["manifest_row"] for row in self.rows()) == list(range(len(VERDICTS)))
        self.stage.endings.update(self.legs())

    def end_faults(self) -> None:
        self.charge_limit = None
        self.set_faults([])

    def set_faults(self, disturbances: list[Disturbance]) -> None:
        """Replace the faults; the quota stays."""
        faults = {each.call: self._fault(each) for each in disturbances}
        self.active = {each.name for each in disturbances}
        for call in ("usage", "uploads", "slot", "verify"):
            self.service.changes[call] = self._change(call, faults.get(call, lambda _number, usual: usual))

    def _fault(self, drawn: Disturbance) -> Callable[[int, Answer], Answer]:
        (fault,) = {
            id(kind[drawn.name]): kind[drawn.name] for kind in FAULTS[drawn.call] if drawn.name in kind
        }.values()
        first = self.service.received[drawn.call] + drawn.first

        def change(number: int, usual: Answer) -> Answer:
            is_faulty = number >= first and (number - first) % drawn.every == 0 and usual.status == 200
            return fault(usual) if is_faulty else usual

        return change

    def _change(self, call: str, fault: Callable[[int, Answer], Answer]) -> Callable[[int, Answer], Answer]:
        """Answer as the quota allows, and then with the fault."""

        def change(number: int, usual: Answer) -> Answer:
            left = None if self.charge_limit is None else max(0, self.charge_limit - self.service.charged)
            headers = {} if left is None or call == "slot" else {"X-RateLimit-Remaining": str(left)}
            if left == 0 and call in {"uploads", "verify"}:
                return Answer(429, HTML, headers=headers)
            return fault(number, replace(usual, headers=usual.headers | headers))

        return change

    def plausible_endings(self) -> set[str]:
        """Return the endings that the active faults allow."""
        by_fault = {"key_refused"} if self.active & set(REFUSALS) else set()
        by_fault |= {"breaker"} if self.active else set()
        by_fault |= {"quota"} if self.charge_limit is not None else set()
        return {"complete"} if self.is_complete else by_fault

    def note(self, what: str, code: int) -> None:
        self.stage.happened[f"{what}: {code}"] += 1
        self.is_complete = self.is_complete or code == 0

    def legs(self) -> list[str]:
        """Return the ending of each leg of the run that has a row."""
        rows = chain.from_iterable(part.to_pylist() for part in self._parts("runs"))
        return [str(row["ended_by"]) for row in sorted(rows, key=lambda row: row["leg"])]

    def rows(self) -> list[Row]:
        return list(chain.from_iterable(part.to_pylist() for part in self._parts("verdicts")))

    def _parts(self, table: str) -> list[pa.Table]:
        return [pq.read_table(part) for part in self.stage.world.results.glob(f"{table}/*/{self.run_id}-*.parquet")]


@pytest.mark.skipif(not SOAK_LEGS, reason="tests/world disturbs runs in any order: make soak")
@pytest.mark.timeout(3_600)
def test_every_row_is_there_once_in_any_order_of_events(
    bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No row is lost, doubled or accepted wrongly; each leg ends as its faults allow, and none by an error of ours."""
    for name, text in QUICK.items():
        monkeypatch.setenv(f"PROOFSWEEP_{name}", text)
    stage = Stage(bare_world, bare_world.catalog(*VERDICTS), Runner(), Runner())

    run_state_machine_as_test(
        lambda: DisturbedRun(stage),  # type: ignore[arg-type]  # Hypothesis also takes a factory
        settings=settings(
            max_examples=SOAK_LEGS // STEPS,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            phases=[Phase.generate],  # shrinking a failure would take hours, and five steps are few
            suppress_health_check=list(HealthCheck),
        ),
    )

    assert bare_world.legs()
    print(dict(stage.endings), dict(stage.happened), f"{len(bare_world.runs)} runs")  # noqa: T201 - `make soak` shows it
