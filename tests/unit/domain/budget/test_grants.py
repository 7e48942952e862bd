"""However many worker processes share a leg's calls, together they spend no more than it has, and nearly all of it."""

import random
from dataclasses import dataclass

import pytest

from proofsweep.domain.budget.bounds import Bounds
from proofsweep.domain.budget.budget import Budget
from proofsweep.domain.budget.grants import Grants
from proofsweep.domain.runs import Claim
from proofsweep.domain.worker_processes import WorkerReport

PROCESS = Claim(host="h", boot="b", pid=7, process_started="1", claimed_at="2026-11-20T00:00:00+00:00")


@dataclass
class Worker:
    """A process that makes the calls that it may, two for each item."""

    granted: int = 0
    calls: int = 0
    returned: int = 0

    def work(self, items: int) -> None:
        """Verify so many items, or fewer."""
        begun = min(items, (self.granted - self.returned - self.calls) // 2)
        self.calls += 2 * begun

    def report(self, *, is_busy: bool = True) -> WorkerReport:
        """Report, and return what is too little for an item."""
        left = self.granted - self.returned - self.calls
        self.returned += left if left < 2 or not is_busy else 0
        return WorkerReport(process=PROCESS, calls=self.calls, returned=self.returned, is_busy=is_busy)


def rounds(budget: Budget, workers: dict[str, Worker], chance: random.Random) -> None:
    """Let the processes work at random until no call can be granted, as a leg's process does it."""
    grants = Grants()
    spent_before = 0
    for _ in range(200):
        reports = {name: worker.report() for name, worker in workers.items()}
        spent = grants.spent(reports, set())
        budget.spent += spent - spent_before
        spent_before, budget.granted = spent, grants.in_hand(reports, set())
        granted = grants.share(budget.grantable(), reports)
        for name, worker in workers.items():
            worker.granted = granted[name] or 0
            worker.work(chance.randrange(40))


@pytest.mark.parametrize("processes", [1, 3, 16])
@pytest.mark.parametrize("most", [1, 3, 21, 100, 1_000])
def test_all_together_spend_what_the_leg_may(most: int, processes: int) -> None:
    """One call is kept for the last probe, and two may be left over: fewer than any item may need are not granted."""
    workers = {str(number): Worker() for number in range(processes)}

    rounds(Budget(Bounds(max_calls=most)), workers, random.Random(most))  # noqa: S311

    spent = sum(worker.calls for worker in workers.values())
    assert most - 4 < spent < max(2, most)


def test_a_process_is_not_given_all_at_once() -> None:
    """Each has an equal share of half of what is left, and never more than it uses before the next orders."""
    reports = {name: WorkerReport(process=PROCESS) for name in "ab"}

    assert Grants().share(100, reports) == {"a": 25, "b": 25}
    assert Grants().share(1_000_000, reports) == {"a": 6_000, "b": 6_000}


def test_calls_without_a_bound_are_not_counted_out() -> None:
    """The service does not say what is left, and nobody bounds the leg."""
    reports = {"a": WorkerReport(process=PROCESS, calls=7)}
    grants = Grants()

    assert grants.share(None, reports) == {"a": None}
    assert (grants.spent(reports, set()), grants.in_hand(reports, set())) == (7, 0)


def test_a_bound_that_comes_later_counts_from_there() -> None:
    """What was spent before is not granted again."""
    reports = {"a": WorkerReport(process=PROCESS, calls=7)}
    grants = Grants()
    grants.share(None, reports)

    assert grants.share(40, reports) == {"a": 27}


def test_what_a_lost_process_had_in_hand_counts_as_spent() -> None:
    """It may have made these calls before it was killed; nobody knows."""
    reports = {"a": WorkerReport(process=PROCESS), "b": WorkerReport(process=PROCESS)}
    grants = Grants()
    grants.share(40, reports)
    reports = {"a": WorkerReport(process=PROCESS, calls=4), "b": WorkerReport(process=PROCESS, calls=10)}

    assert grants.spent(reports, {"a"}) == 20
    assert grants.in_hand(reports, {"a"}) == 0


def test_a_process_that_closed_has_nothing_in_hand() -> None:
    """Its report says what it spent."""
    reports = {"a": WorkerReport(process=PROCESS)}
    grants = Grants()
    grants.share(40, reports)

    closed = {"a": WorkerReport(process=PROCESS, calls=4, is_closed=True)}
    assert (grants.spent(closed, set()), grants.in_hand(closed, set())) == (4, 0)
