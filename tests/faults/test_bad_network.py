"""Whatever the network does to a call, each row is right or remains.

No call exceeds its time limit by more than a busy machine explains.
"""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from ..servers.foreign_service import KEYED, Answer
from ..worlds.command_world import export_settings
from ..worlds.foreign_world import ForeignWorld

CALLS = ("uploads", "slot", "verify")
VERDICTS = ["valid", "tampered", "valid", "local_seal", "valid"] * 3
READ_SECONDS = 1.5
"""How long a call waits for a piece of its answer; on a busy machine the service itself may take a second."""
TOTAL_SECONDS = 2 * READ_SECONDS
"""The limit for a whole answer; one that comes byte by byte would take longer."""
TOO_LONG_MS = 5 * TOTAL_SECONDS * 1000


@pytest.fixture
def world(bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch) -> ForeignWorld:
    """A world without Prefect, whose runs soon give up."""
    settings = {"TIMEOUTS__READ_SECONDS": str(READ_SECONDS), "PACE__FIRST_RATE": "100", "RETRY__BREAKER_SECONDS": "0.3"}
    export_settings(monkeypatch, settings)
    return bare_world


def check_all(world: ForeignWorld, rows: int = len(VERDICTS)) -> None:
    """Check that each row is right, that each call is recorded once, and that none took too long."""
    exchanges = [row for row in world.table("exchanges") if row["bytes_sent"] is not None]
    sent = Counter(row["call"] for row in exchanges)
    assert [row["verdict"] for row in world.rows()] == VERDICTS[:rows]
    assert {call: sent[call] for call in CALLS} == {call: world.service.received[call] for call in CALLS}
    assert sum(leg["calls"] for leg in world.legs()) == sum(sent[call] for call in KEYED)
    assert max(row["elapsed_ms"] for row in exchanges) < TOO_LONG_MS


@pytest.mark.parametrize("faults", [("unanswered", "in_headers", "in_body"), ("never", "slowly")])
def test_a_fault_now_and_then_costs_retries_and_no_row(world: ForeignWorld, faults: tuple[str, ...]) -> None:
    """In one of five calls of each kind; only an answer that is whole and in time counts. A slot may be refused too."""

    def fail_sometimes(number: int, usual: Answer) -> Answer:
        return replace(usual, breaks=faults[number // 5 % len(faults)]) if number % 5 == 2 else usual

    def also_refuse(number: int, usual: Answer) -> Answer:
        return Answer(403, b"<Error/>") if number % 5 == 4 else fail_sometimes(number, usual)

    world.service.changes |= {"uploads": fail_sometimes, "slot": also_refuse, "verify": fail_sometimes}

    ended_by = world.verify(world.catalog(*VERDICTS))

    check_all(world)
    failures = Counter(row["failure"] for row in world.table("exchanges"))
    faulty = sum(number % 5 == 2 for call in CALLS for number in range(world.service.received[call]))
    assert ended_by == "complete"
    assert all(world.service.received[call] > 2 + 5 * (len(faults) - 1) for call in CALLS)
    assert failures.total() - failures[None] == faulty, failures
    assert world.service.ids(calls={"uploads", "verify"}) <= {row["request_id"] for row in world.table("exchanges")}


@pytest.mark.parametrize(
    ("rows", "call", "wrong"),
    [
        (15, "uploads", {"breaks": "unanswered"}),
        (1, "uploads", {"status": 500}),
        (15, "uploads", {"status": 307, "document": b"", "headers": {"Location": "/elsewhere"}}),
        (15, "uploads", {"document": b'{"uploadId": "7", "url": "http://[nowhere/", "fields": {}}'}),
        (15, "slot", {"breaks": "in_body"}),
        (1, "slot", {"status": 500}),
        (15, "verify", {"breaks": "never"}),
    ],
)
def test_a_lasting_fault_ends_the_run_and_fails_no_row(
    world: ForeignWorld, rows: int, call: str, wrong: dict[str, Any]
) -> None:
    """There is no row, even if no other file is left to compare with; when all works again, the next leg does it.

    No file is tried a second time, with its five attempts, before the service was seen to work.
    """
    world.service.changes[call] = lambda _number, usual: replace(usual, **wrong)
    stopped = world.verify(catalog := world.catalog(*VERDICTS[:rows]))
    rows_then, tries = world.rows(), world.service.received[call]
    world.service.changes.clear()

    resumed = world.verify(catalog)

    assert (stopped, rows_then, resumed) == ("breaker", [], "complete")
    assert tries < 7 * len(VERDICTS)
    check_all(world, rows)


def test_an_upload_that_is_gone_after_a_lost_verdict_is_sent_again(world: ForeignWorld) -> None:
    """POST /verify has no side effects (contract, Retry safety): it is sent again for the same upload.

    The contract does not say that an upload can be verified twice: if not, a new one is made.
    """
    gone = Answer(404, {"error": "gone", "code": "no_such_upload"})
    answers = {0: lambda usual: replace(usual, breaks="in_body"), 1: lambda _usual: gone}
    world.service.changes["verify"] = lambda number, usual: answers.get(number, lambda usual: usual)(usual)

    world.verify(world.catalog("valid"))

    (row,) = world.rows()
    assert (row["accepted"], row["verify_attempts"], row["calls"]) == (True, 3, 5)
    assert world.service.received["slot"] == 2


def test_a_kept_connection_that_is_closed_as_the_next_call_goes_costs_that_call(world: ForeignWorld) -> None:
    """A service ends idle connections; the call that meets such an end is made again, and is counted as sent."""
    world.service.keeps_connections = True

    ended_by = world.verify(world.catalog("valid"))

    (row,) = world.rows()
    assert (ended_by, row["accepted"], row["verify_attempts"]) == ("complete", True, 2)
    assert {call: world.service.received[call] for call in CALLS} == dict.fromkeys(CALLS, 1)
    assert row["calls"] == 3


def test_a_truncated_verdict_that_is_valid_json_does_not_count(world: ForeignWorld) -> None:
    """An answer is whole when it has the length in its header; half of one may be valid JSON with another verdict."""
    good = b'{"good": true, "verdict": "valid"}'
    cut = Answer(document=good + b" " * len(good), breaks="in_body")
    world.service.changes["verify"] = lambda number, usual: usual if number else cut

    world.verify(world.catalog("tampered"))

    (row,) = world.rows()
    assert (row["verdict"], row["accepted"]) == ("tampered", False)
    assert (row["verify_attempts"], world.service.received["uploads"]) == (2, 1)
