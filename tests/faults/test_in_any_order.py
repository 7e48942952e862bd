"""Faults, kills, a quota that ends, resumes, two at once, one that comes back from the dead: in any order.

Hypothesis draws what happens to a run, and after each step its rows must be whole; in the end all are there. Five runs
here; `make soak` draws sixty.
"""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from .drawn_faults import DISTURBANCES, FAULTS, HTML, REFUSALS, Disturbance

World = Any
Runner = Any
Says = Any
NewRunner = Callable[[], Runner]

STEPS = 5
SOAK_LEGS = os.environ.get("PROOFSWEEP_SOAK_LEGS")
RUNS = int(SOAK_LEGS or "25") // STEPS
VERDICTS = ("valid", "tampered", "valid", "audioChanged", "valid", "local_seal") * 4
QUICK = {
    "PACE__WORKERS": "4",
    "PACE__FIRST_RATE": "100",
    "PACE__LONGEST_PAUSE_SECONDS": "0.3",
    "RETRY__ATTEMPTS": "3",
    "RETRY__BREAKER_SECONDS": "0.3",
    "RETRY__LONGEST_WAIT_SECONDS": "0.05",
    "TIMEOUTS__TOTAL_SECONDS": "5",
}
KILLED = -signal.SIGKILL
CUTS = st.tuples(st.integers(1, 14), st.sampled_from(["before", "half", "after"]))
MOMENTS = st.floats(0.05, 0.6)


@dataclass
class Stage:
    """Where the runs take place, and what came of them."""

    world: World
    catalog: str
    runner: Runner
    other_runner: Runner
    endings: Counter[str] = field(default_factory=Counter)
    happened: Counter[str] = field(default_factory=Counter)


class Ordeal(RuleBasedStateMachine):
    """One run, to which things happen."""

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self.stage, self.service = stage, stage.world.service
        self.active: set[str] = set()
        self.spendable: int | None = None
        self.is_complete = False
        self.heal()
        assert stage.runner.do(f"plan {stage.catalog}") == 0
        self.run_id = stage.world.runs[-1]

    @rule(disturbances=DISTURBANCES)
    @precondition(lambda self: not self.is_complete)
    def a_leg_is_worked_on(self, disturbances: list[Disturbance]) -> None:
        """It ends as its faults allow."""
        self.disturb(disturbances)
        before = len(self.legs())
        self.note("leg", code := self.stage.runner.do(f"leg {self.run_id}"))
        if len(self.legs()) > before:
            assert self.legs()[-1] in self.plausible_endings(), f"{self.legs()} under {self.active}"
        assert code in {0, 3}, f"a leg under {self.active} ended with {code}"

    @rule(disturbances=DISTURBANCES, cut=CUTS)
    @precondition(lambda self: not self.is_complete)
    def a_leg_is_killed_at_a_write(self, disturbances: list[Disturbance], cut: tuple[int, str]) -> None:
        """Or over before it comes to that write."""
        self.disturb(disturbances)
        self.note("kill", code := self.stage.runner.do(f"leg {self.run_id} {cut[0]} {cut[1]}"))
        assert code in {0, 3, KILLED}, f"a leg under {self.active} ended with {code}"

    @rule(moment=MOMENTS)
    @precondition(lambda self: not self.is_complete)
    def two_resume_at_once(self, moment: float) -> None:
        """One of them works, or one after the other; never does nobody."""
        self.disturb([])
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
    def a_leg_comes_back_after_it_was_taken_over(self, moment: float) -> None:
        """It stood still for so long that it was held for dead; now both are at work, in nobody's way."""
        self.disturb([])
        process = self.stage.runner.begin(f"leg {self.run_id}")
        time.sleep(moment)
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGSTOP)
        self.stage.other_runner.begin(f"seize {self.run_id}")
        time.sleep(moment)
        self.nothing_is_wrong()
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)
        self.note("taken over", came_back := self.stage.runner.exit_code())
        self.note("successor", successor := self.stage.other_runner.exit_code())
        assert {successor, came_back} <= {0, 3, 9}, (successor, came_back)

    @rule(calls=st.integers(0, 40))
    def the_quota_is_about_to_end(self, calls: int) -> None:
        """So many calls more are answered."""
        self.spendable = self.service.charged + calls

    @rule()
    def the_quota_is_refilled(self) -> None:
        """As at the turn of the month."""
        self.spendable = None

    @invariant()
    def nothing_is_wrong(self) -> None:
        """Read as a plain reader would: no row twice, none that was not asked for, none accepted without an answer."""
        rows = self.rows()
        numbers = [row["manifest_row"] for row in rows]
        accepted = [row for row in rows if row["accepted"]]
        told = {row["verify_request_id"] for row in accepted}
        assert len(set(numbers)) == len(numbers)
        assert set(numbers) <= set(range(len(VERDICTS)))
        assert all(VERDICTS[row["manifest_row"]] == "valid" == row["verdict"] and row["good"] for row in accepted)
        assert told <= self.service.ids(calls={"verify"})
        assert len(told) == len(accepted)

    def teardown(self) -> None:
        """Let all be well, and the run come to its end: each row is there once."""
        self.heal()
        for _ in range(3):
            if not self.is_complete:
                self.note("last leg", self.stage.runner.do(f"leg {self.run_id}"))
        self.nothing_is_wrong()
        assert sorted(row["manifest_row"] for row in self.rows()) == list(range(len(VERDICTS)))
        self.stage.endings.update(self.legs())

    def heal(self) -> None:
        """Let the service be itself, with calls enough."""
        self.spendable = None
        self.disturb([])

    def disturb(self, disturbances: list[Disturbance]) -> None:
        """Let these faults be, and the quota be as it is."""
        faults = {each.call: self._fault(each) for each in disturbances}
        self.active = {each.name for each in disturbances}
        for call in ("usage", "uploads", "slot", "verify"):
            self.service.twists[call] = self._twist(call, faults.get(call, lambda _number, usual: usual))

    def _fault(self, drawn: Disturbance) -> Callable[[int, Says], Says]:
        (fault,) = {
            id(kind[drawn.name]): kind[drawn.name] for kind in FAULTS[drawn.call] if drawn.name in kind
        }.values()
        first = self.service.asked[drawn.call] + drawn.first

        def twist(number: int, usual: Says) -> Says:
            is_its_turn = number >= first and (number - first) % drawn.every == 0 and usual.status == 200
            return fault(usual) if is_its_turn else usual

        return twist

    def _twist(self, call: str, fault: Callable[[int, Says], Says]) -> Callable[[int, Says], Says]:
        """Answer as the quota allows, and then as the fault would have it."""

        def twist(number: int, usual: Says) -> Says:
            left = None if self.spendable is None else max(0, self.spendable - self.service.charged)
            headers = {} if left is None or call == "slot" else {"X-RateLimit-Remaining": str(left)}
            if left == 0 and call in {"uploads", "verify"}:
                return self.service.says(429, HTML, headers=headers)
            return fault(number, replace(usual, headers=usual.headers | headers))

        return twist

    def plausible_endings(self) -> set[str]:
        """Say how a leg may end under the faults of now."""
        by_fault = {"key_refused"} if self.active & set(REFUSALS) else set()
        by_fault |= {"breaker"} if self.active else set()
        by_fault |= {"quota"} if self.spendable is not None else set()
        return {"complete"} if self.is_complete else by_fault

    def note(self, what: str, code: int) -> None:
        """Keep how it went."""
        self.stage.happened[f"{what}: {code}"] += 1
        self.is_complete = self.is_complete or code == 0

    def legs(self) -> list[str]:
        """Say how each leg of the run ended that has a row."""
        rows = chain.from_iterable(part.to_pylist() for part in self._parts("runs"))
        return [str(row["ended_by"]) for row in sorted(rows, key=lambda row: row["leg"])]

    def rows(self) -> list[dict[str, Any]]:
        """Read the verdicts of the run."""
        return list(chain.from_iterable(part.to_pylist() for part in self._parts("verdicts")))

    def _parts(self, table: str) -> list[Any]:
        return [pq.read_table(part) for part in self.stage.world.results.glob(f"{table}/*/{self.run_id}-*.parquet")]


@pytest.mark.timeout(3_600)
def test_whatever_happens_in_whatever_order_every_row_comes_out_once(
    bare_world: World, new_runner: NewRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost, doubled or accepted wrongly, each leg ends as its faults allow, and none by an error of ours."""
    for name, text in QUICK.items():
        monkeypatch.setenv(f"PROOFSWEEP_{name}", text)
    stage = Stage(bare_world, bare_world.catalog(*VERDICTS), new_runner(), new_runner())

    run_state_machine_as_test(
        lambda: Ordeal(stage),
        settings=settings(
            max_examples=RUNS,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            derandomize=SOAK_LEGS is None,  # a soak is another one each time; what failed is printed step by step
            phases=[Phase.generate],  # to shrink what failed would take hours, and five steps are few
            suppress_health_check=list(HealthCheck),
        ),
    )

    assert bare_world.legs()
    print(dict(stage.endings), dict(stage.happened), f"{len(bare_world.runs)} runs")  # noqa: T201 - for whoever soaks
