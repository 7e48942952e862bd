"""Whatever the network does to a call, each row is right or remains, and no call exceeds its time limit."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ..servers.foreign_service import KEYED, Answer
from ..worlds.foreign_world import ForeignWorld
from .bad_network import NEVER_RECEIVED, BadNetwork, ChooseFault, NetworkFault

CALLS = ("uploads", "slot", "verify")
VERDICTS = ["valid", "tampered", "valid", "local_seal", "valid"] * 3
READ_SECONDS = 1.5
"""How long a call waits for a piece of its answer; on a busy machine the service itself may take a second."""
TOTAL_SECONDS = 2 * READ_SECONDS
"""The limit for a whole answer; one that comes byte by byte would take longer."""
TOO_LONG_MS = 5 * TOTAL_SECONDS * 1000


def one_in_five(*faults: NetworkFault) -> ChooseFault:
    """Give one call in five a fault, first the third; each kind in turn."""
    return lambda number: faults[number // 5 % len(faults)] if number % 5 == 2 else None


@pytest.fixture
def world(bare_world: ForeignWorld) -> ForeignWorld:
    """A world without Prefect."""
    return bare_world


@pytest.fixture
def network(world: ForeignWorld, monkeypatch: pytest.MonkeyPatch) -> Iterator[BadNetwork]:
    """A network in front of the service and its slots."""
    network = BadNetwork(world.service.base_url)
    with network.opened() as url:
        world.service.front = url
        settings = {
            "SERVICE__BASE_URL": f"{url}/partners/v1",
            "TIMEOUTS__READ_SECONDS": str(READ_SECONDS),
            "PACE__FIRST_RATE": "100",
            "RETRY__BREAKER_SECONDS": "0.3",
        }
        for name, text in settings.items():
            monkeypatch.setenv(f"PROOFSWEEP_{name}", text)
        yield network


def check_all(world: ForeignWorld, network: BadNetwork) -> None:
    """Check that each row is right, that each call is recorded once, and that none took too long."""
    exchanges = world.table("exchanges")
    sent = Counter(row["call"] for row in exchanges)
    assert [row["verdict"] for row in world.rows()] == VERDICTS
    assert {call: sent[call] for call in CALLS} == {call: network.seen[call] for call in CALLS}
    assert sum(leg["calls"] for leg in world.legs()) == sum(sent[call] for call in KEYED)
    assert max(row["elapsed_ms"] for row in exchanges) < TOO_LONG_MS


@pytest.mark.parametrize(
    "faults",
    [
        (NetworkFault.LATE,),
        (NetworkFault.RESET_BEFORE_BODY, NetworkFault.RESET_BEFORE_ANSWER, NetworkFault.TRUNCATED),
        (NetworkFault.LOST_REQUEST, NetworkFault.LOST_ANSWER, NetworkFault.BYTE_BY_BYTE),
    ],
)
def test_a_fault_now_and_then_costs_retries_and_no_row(
    world: ForeignWorld, network: BadNetwork, faults: tuple[NetworkFault, ...]
) -> None:
    """In each call of an item; only an answer that is whole and in time counts."""
    choose = one_in_five(*faults)
    network.faults |= dict.fromkeys(CALLS, choose)

    ended_by = world.verify(world.catalog(*VERDICTS))

    check_all(world, network)
    failures = Counter(row["failure"] for row in world.table("exchanges"))
    met = {call: [fault for each in range(network.seen[call]) if (fault := choose(each))] for call in CALLS}
    assert ended_by == "complete"
    assert all(set(met[call]) == set(faults) for call in CALLS)
    for call in CALLS:
        assert network.seen[call] - world.service.received[call] == sum(each in NEVER_RECEIVED for each in met[call])
    failed = sum(each is not NetworkFault.LATE for call in CALLS for each in met[call])
    assert failures.total() - failures[None] == failed


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        ("uploads", NetworkFault.RESET_BEFORE_ANSWER),
        ("slot", NetworkFault.TRUNCATED),
        ("verify", NetworkFault.LOST_ANSWER),
    ],
)
def test_a_lasting_fault_ends_the_run_and_fails_no_row(
    world: ForeignWorld, network: BadNetwork, call: str, fault: NetworkFault
) -> None:
    """There is no row, since the call never has an answer; on a working network the next leg does all.

    No file is tried a second time, with its five attempts, before the service was seen to work.
    """
    network.faults[call] = lambda _number: fault
    stopped = world.verify(catalog := world.catalog(*VERDICTS))
    rows_then, tries = world.rows(), network.seen[call]
    network.faults.clear()

    resumed = world.verify(catalog)

    assert (stopped, rows_then, resumed) == ("breaker", [], "complete")
    assert tries < 7 * len(VERDICTS)
    check_all(world, network)


def test_a_lost_verdict_costs_one_more_verify_and_no_upload(world: ForeignWorld, network: BadNetwork) -> None:
    """POST /verify has no side effects (contract, Retry safety): it is sent again for the same upload."""
    network.faults["verify"] = lambda number: NetworkFault.RESET_BEFORE_ANSWER if number % 2 == 0 else None

    world.verify(world.catalog("valid"))

    (row,) = world.rows()
    assert (row["accepted"], row["verify_attempts"], row["calls"]) == (True, 2, 3)
    assert (world.service.received["uploads"], world.service.received["slot"], world.service.received["verify"]) == (
        1,
        1,
        2,
    )


def test_an_upload_that_is_gone_after_a_lost_verdict_is_sent_again(world: ForeignWorld, network: BadNetwork) -> None:
    """The contract does not say that an upload can be verified twice: if not, a new one is made."""
    network.faults["verify"] = lambda number: NetworkFault.TRUNCATED if number == 0 else None
    gone = Answer(404, {"error": "gone", "code": "no_such_upload"})
    world.service.changes["verify"] = lambda number, usual: gone if number == 1 else usual

    world.verify(world.catalog("valid"))

    (row,) = world.rows()
    assert (row["accepted"], row["verify_attempts"], row["calls"]) == (True, 3, 5)
    assert world.service.received["slot"] == 2


def test_a_truncated_verdict_that_is_valid_json_does_not_count(world: ForeignWorld, network: BadNetwork) -> None:
    """An answer is whole when it has the length in its header; half of one may be valid JSON with another verdict."""

    def longer(number: int, usual: Answer) -> Answer:
        if number:
            return usual
        good = b'{"good": true, "verdict": "valid"}'
        return replace(usual, document=good + b" " * len(good))

    world.service.changes["verify"] = longer
    network.faults["verify"] = lambda number: NetworkFault.TRUNCATED if number == 0 else None

    world.verify(world.catalog("tampered"))

    (row,) = world.rows()
    assert (row["verdict"], row["accepted"], row["verify_attempts"]) == ("tampered", False, 2)
