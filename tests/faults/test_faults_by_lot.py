"""Faults, hostile answers, kills and resumes in any order: the rows are whole after each step, and right in the end.

Two dozen legs here; `make soak` draws three hundred.
"""

import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import pyarrow.parquet as pq
import pytest

World = Any
Runner = Any
Says = Any
Fault = Callable[[Says], Says]

LEGS = int(os.environ.get("PROOFSWEEP_SOAK_LEGS", "24"))
VERDICTS = ("valid", "tampered", "valid", "audioChanged", "valid", "local_seal") * 4
HTML = b"<html><body>Oops</body></html>"
QUICK = {
    "PACE__WORKERS": "4",
    "RETRY__ATTEMPTS": "3",
    "RETRY__BREAKER_SECONDS": "0.3",
    "RETRY__LONGEST_WAIT_SECONDS": "0.05",
    "PACE__LONGEST_PAUSE_SECONDS": "0.3",
    "TIMEOUTS__TOTAL_SECONDS": "5",
}


def saying(**facts: Any) -> Fault:  # noqa: ANN401 - whatever an answer has
    """Answer something else in places."""
    return lambda usual: replace(usual, **facts)


def telling(**members: object) -> Fault:
    """Change members of what would be answered."""
    return lambda usual: replace(usual, document=usual.document | members)


def spelling(found: bytes, put: bytes) -> Fault:
    """Change the bytes of what would be answered."""
    return lambda usual: replace(usual, document=usual.bytes().replace(found, put))


STATUSES = {f"a storm of {status}": saying(status=status, document=HTML) for status in (302, 404, 413, 422, 500, 503)}
BREAKS = {f"broken {where}": saying(breaks=where) for where in ("unanswered", "in_headers", "in_body")}
HOSTILE = {
    "too deep": saying(document=b"[" * 900 + b"]" * 900),
    "too long": saying(document=b" " * 3_000_000),
    "no UTF-8": saying(document=b'{"\xff": 1}'),
    "not a number": saying(document=b'{"good": NaN, "verdict": "valid"}'),
    "compressed": saying(headers={"Content-Encoding": "gzip"}),
    "longer than it is": saying(headers={"content-LENGTH": "999999"}),
    "no header": saying(headers={"no header": "\0"}),
}
THROTTLES = {
    "a throttle": saying(status=429, document=HTML, headers={"Retry-After": "0"}),
    "a long throttle": saying(status=429, document=HTML, headers={"Retry-After": "86400"}),
}
QUOTA = {"the quota's end": saying(status=429, document=HTML, headers={"X-RateLimit-Remaining": "0"})}
REFUSALS = {"a refused key": saying(status=403, document={"code": "forbidden"})}
ODD = {
    "another spelling": telling(verdict="Valid"),
    "good alone": telling(verdict=""),
    "not good": telling(good=False),
    "good as text": telling(good="true"),
    "a list": telling(verdict=["valid"]),
    "two minds": spelling(b'"verdict"', b'"good": true, "verdict": "valid", "verdict"'),
    "a deep grade": spelling(b'"verdict"', b'"grade": ' + b"[" * 95 + b"]" * 95 + b', "verdict"'),
}
HALF = {"half a slot": telling(url=None), "no fields": telling(fields=[1])}
FAULTS: dict[str, list[dict[str, Fault]]] = {
    "uploads": [STATUSES, BREAKS, HOSTILE, THROTTLES, QUOTA, REFUSALS, HALF],
    "slot": [STATUSES, BREAKS, HOSTILE, THROTTLES, REFUSALS],
    "verify": [STATUSES, BREAKS, HOSTILE, THROTTLES, QUOTA, REFUSALS, ODD, ODD],
    "usage": [THROTTLES, QUOTA, REFUSALS],
}
"""By call, of several kinds; each kind is drawn as often as any other."""


@dataclass
class Ordeal:
    """One catalog, run after run, under faults drawn by lot.

    Attributes:
        active: the names of the faults of now.
    """

    world: World
    runner: Runner
    catalog: str
    chance: random.Random
    active: set[str] = field(default_factory=set)
    kills: int = 0
    endings: Counter[str] = field(default_factory=Counter)

    @property
    def runs(self) -> list[str]:
        """The runs that were planned."""
        return sorted(path.parent.name for path in self.world.results.glob("_runs/*/plan.json"))

    def plan(self) -> str:
        """Plan one more run, which needs a service that is in order."""
        self.heal()
        assert self.runner.do(f"plan {self.catalog}") == 0
        return self.runs[-1]

    def heal(self) -> None:
        """Let the service be itself."""
        self.world.service.twists.clear()
        self.active.clear()

    def disturb(self) -> None:
        """Draw faults, and how often each occurs: now and then, or always from some call on."""
        self.heal()
        for call in self.chance.sample(sorted(FAULTS), self.chance.choice([0, 1, 2, 2])):
            name, fault = self.chance.choice(sorted(self.chance.choice(FAULTS[call]).items()))
            first = self.world.service.asked[call] + self.chance.randrange(2 if call == "usage" else 8)
            self.world.service.twists[call] = _twist(fault, first, self.chance.choice([1, 1, 3, 7]))
            self.active.add(name)
        if self.active & set(QUOTA):  # the usage, asked once as a leg begins, tells of it later
            empty = saying(headers={"x-ratelimit-remaining": "0"})
            self.world.service.twists["usage"] = _twist(empty, self.world.service.asked["usage"] + 1, 1)

    def work(self, run_id: str, cut: str = "0 never") -> bool:
        """Work on one leg, perhaps until it is killed; say whether the run is complete."""
        before = len(self.legs(run_id))
        code = self.runner.do(f"leg {run_id} {cut}")
        assert code in {0, 3, -signal.SIGKILL}, f"a leg under {self.active} ended with {code}"
        self.kills += code == -signal.SIGKILL
        self.nothing_is_wrong(run_id)
        legs = self.legs(run_id)
        if code != -signal.SIGKILL and len(legs) > before:
            self.endings[legs[-1]] += 1
            assert legs[-1] in self.plausible_endings(is_complete=code == 0), f"{legs} under {self.active}"
        return bool(code == 0)

    def legs(self, run_id: str) -> list[str]:
        """Say how each leg of a run ended that has a row."""
        return [str(leg["ended_by"]) for leg in self.world.legs() if leg["run_id"] == run_id]

    def plausible_endings(self, *, is_complete: bool) -> set[str]:
        """Say how a leg may end under the faults of now."""
        by_fault = {"key_refused"} if self.active & set(REFUSALS) else set()
        by_fault |= {"quota"} if self.active & set(QUOTA) else set()
        by_fault |= {"breaker"} if self.active else set()
        return {"complete"} | (by_fault if not is_complete else set())

    def nothing_is_wrong(self, run_id: str) -> None:
        """Read as a plain reader would: no row twice, and none accepted but by an answer of its own that says so."""
        parts = [pq.read_table(part) for part in self.world.results.glob(f"verdicts/run_date=*/{run_id}-*.parquet")]
        rows = list(chain.from_iterable(part.to_pylist() for part in parts))
        numbers = [row["manifest_row"] for row in rows]
        accepted = [row for row in rows if row["accepted"]]
        assert len(set(numbers)) == len(numbers)
        assert all(VERDICTS[row["manifest_row"]] == "valid" == row["verdict"] and row["good"] for row in accepted)
        assert {row["verify_request_id"] for row in accepted} <= self.world.service.ids(calls={"verify"})
        assert len({row["verify_request_id"] for row in accepted}) == len(accepted)


def _twist(fault: Fault, first: int, every: int) -> Callable[[int, Says], Says]:
    def twist(number: int, usual: Says) -> Says:
        is_its_turn = number >= first and (number - first) % every == 0 and usual.status == 200
        return fault(usual) if is_its_turn else usual

    return twist


@pytest.mark.timeout(1_800)
def test_whatever_happens_in_whatever_order_every_row_comes_out_once(
    bare_world: World, new_runner: Callable[[], Runner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost, doubled or accepted wrongly, each leg ends as its faults allow, and none by an error of ours."""
    for name, text in QUICK.items():
        monkeypatch.setenv(f"PROOFSWEEP_{name}", text)
    chance = random.Random(20261121)  # noqa: S311
    ordeal = Ordeal(bare_world, new_runner(), bare_world.catalog(*VERDICTS), chance)
    run_id = ordeal.plan()

    for _ in range(LEGS):
        ordeal.disturb()
        cut = f"{chance.randint(1, 14)} {chance.choice(['before', 'half', 'after'])}"
        if ordeal.work(run_id, chance.choice([cut, "0 never", "0 never"])):
            run_id = ordeal.plan()
    ordeal.heal()
    while not ordeal.work(run_id):
        assert len(ordeal.legs(run_id)) < LEGS + 10

    rows = bare_world.table("verdicts")
    whole = dict.fromkeys(((run, row) for run in ordeal.runs for row in range(len(VERDICTS))), 1)
    assert Counter((row["run_id"], row["manifest_row"]) for row in rows) == whole
    assert sum(leg["ended_by"] == "killed" for leg in bare_world.legs()) <= ordeal.kills
    print(ordeal.endings, f"{ordeal.kills} kills, {len(ordeal.runs)} runs")  # noqa: T201 - for whoever soaks
