"""Whatever befalls a call on its way, each row comes out right or remains, and nothing waits longer than it may."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from .bad_network import NEVER_HEARD, BadNetwork, Befalls, Mishap
from .foreign_service import KEYED

World = Any
Says = Any

CALLS = ("uploads", "slot", "verify")
VERDICTS = ["valid", "tampered", "valid", "local_seal", "valid"] * 3
TOTAL_SECONDS = 1.0
"""That an answer may take in all; a trickle would take a hundred times as long."""
FAR_TOO_LONG_MS = 10 * TOTAL_SECONDS * 1000


def now_and_then(mishap: Mishap) -> Befalls:
    """Let one call in five have it, the third first."""
    return lambda number: mishap if number % 5 == 2 else None


@pytest.fixture
def network(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[BadNetwork]:
    """The only way to the service and to its slots."""
    network = BadNetwork(world.service.base_url)
    with network.leading() as url:
        world.service.front = url
        settings = {
            "SERVICE__BASE_URL": f"{url}/partners/v1",
            "TIMEOUTS__READ_SECONDS": "0.5",
            "TIMEOUTS__TOTAL_SECONDS": str(TOTAL_SECONDS),
            "PACE__FIRST_RATE": "100",
            "RETRY__BREAKER_SECONDS": "0.3",
        }
        for name, text in settings.items():
            monkeypatch.setenv(f"PROOFSWEEP_{name}", text)
        yield network


def check_all(world: World, network: BadNetwork) -> None:
    """See that each row is right, that every call which set out is on record, and that none took far too long."""
    exchanges = world.table("exchanges")
    sent = Counter(row["call"] for row in exchanges)
    assert [row["verdict"] for row in world.rows()] == VERDICTS
    assert {call: sent[call] for call in CALLS} == {call: network.seen[call] for call in CALLS}
    assert sum(leg["calls"] for leg in world.legs()) == sum(network.seen[call] for call in KEYED)
    assert max(row["elapsed_ms"] for row in exchanges) < FAR_TOO_LONG_MS


@pytest.mark.parametrize("mishap", Mishap)
def test_what_happens_now_and_then_costs_tries_and_no_row(world: World, network: BadNetwork, mishap: Mishap) -> None:
    """In each call of the core flow; only an answer that came whole and in time is believed."""
    network.befalls |= dict.fromkeys(CALLS, now_and_then(mishap))

    code = world.run("verify", world.catalog(*VERDICTS))

    check_all(world, network)
    failures = Counter(row["failure"] for row in world.table("exchanges"))
    befallen = sum(len(range(2, network.seen[call], 5)) for call in CALLS)
    assert code == 3
    assert failures.total() - failures[None] == (0 if mishap is Mishap.LATE else befallen)
    assert sum(network.seen[call] - world.service.asked[call] for call in CALLS) == (
        befallen if mishap in NEVER_HEARD else 0
    )


@pytest.mark.parametrize(
    ("call", "mishap"),
    [("uploads", Mishap.RESET_BEFORE_ANSWER), ("slot", Mishap.CUT), ("verify", Mishap.UNANSWERED)],
)
def test_what_lasts_ends_the_run_and_blames_no_row(
    world: World, network: BadNetwork, call: str, mishap: Mishap
) -> None:
    """Exit 8 within some deadlines and no row, as the call was never answered; on a good way `resume` does it all."""
    network.befalls[call] = lambda _number: mishap
    stopped = world.run("verify", world.catalog(*VERDICTS))
    then, tries = world.rows(), network.seen[call]
    network.befalls.clear()

    code = world.run("resume")

    assert (stopped, then, code) == (8, [], 3)
    assert tries < 3 * len(VERDICTS)
    check_all(world, network)


def test_a_verdict_that_was_lost_is_asked_for_again_and_nothing_is_sent_twice(
    world: World, network: BadNetwork
) -> None:
    """POST /verify has no side effects (contract, Retry safety), so one more call for the same upload is the price."""
    network.befalls["verify"] = lambda number: Mishap.RESET_BEFORE_ANSWER if number % 2 == 0 else None

    world.run("verify", world.catalog("valid"))

    (row,) = world.rows()
    assert (row["accepted"], row["verify_attempts"], row["calls"]) == (True, 2, 3)
    assert (world.service.asked["uploads"], world.service.asked["slot"], world.service.asked["verify"]) == (1, 1, 2)
    assert world.service.charged == world.legs()[0]["calls"]


def test_an_upload_that_is_gone_with_its_lost_verdict_is_brought_once_more(world: World, network: BadNetwork) -> None:
    """The contract does not say that an upload can be verified twice: then a fresh one is the price."""
    network.befalls["verify"] = lambda number: Mishap.CUT if number == 0 else None
    gone = world.service.says(404, {"error": "gone", "code": "no_such_upload"})
    world.service.twists["verify"] = lambda number, usual: gone if number == 1 else usual

    world.run("verify", world.catalog("valid"))

    (row,) = world.rows()
    assert (row["accepted"], row["verify_attempts"], row["calls"]) == (True, 3, 5)
    assert world.service.asked["slot"] == 2


def test_a_verdict_that_is_cut_where_it_still_reads_well_is_not_believed(world: World, network: BadNetwork) -> None:
    """An answer is whole when it is as long as it says; half of a longer one may be a whole one, and another."""
    first: list[Says] = []

    def longer(number: int, usual: Says) -> Says:
        if number:
            return usual
        good = b'{"good": true, "verdict": "valid"}'
        first.append(replace(usual, document=good + b" " * len(good)))
        return first[0]

    world.service.twists["verify"] = longer
    network.befalls["verify"] = lambda number: Mishap.CUT if number == 0 else None

    world.run("verify", world.catalog("tampered"))

    (row,) = world.rows()
    assert (row["verdict"], row["accepted"], row["verify_attempts"]) == ("tampered", False, 2)
