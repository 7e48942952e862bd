"""What an operation did is one line, and what a person should know beside it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from proofsweep.domain.items import Row
from proofsweep.operations.lines import (
    json_of_rotation,
    line_of_erasures,
    line_of_inventory,
    line_of_notes,
    line_of_recovery,
    line_of_round,
    lines_of_erasures,
    lines_of_rotation,
    notes_of_inventory,
)
from proofsweep.operations.results import Erasure, Inventory, NotesRefreshed, Recovered

from ..store.test_key_rotation import NOW, rotation


def test_an_inventory_is_one_line() -> None:
    """With a note that pending proofs are not listed."""
    found = Inventory(operation_id="o", states={"matched": 1_200, "not_listed": 2}, unnamed=1)

    assert line_of_inventory(found) == "1,200 proofs listed: 1,200 as answered, 2 of accepted files are not listed"
    assert "is pending, was erased, belongs to another partner" in next(iter(notes_of_inventory(found)))
    assert list(notes_of_inventory(found))[1] == "1 listed items had no proof ID, and were left out."
    assert list(notes_of_inventory(Inventory(operation_id="o", states={}))) == [
        "Proofs that are pending are never listed."
    ]


def test_a_listing_that_may_not_be_whole_says_so() -> None:
    """On the same line."""
    found = Inventory(operation_id="o", states={}, problem="no page was new")

    assert line_of_inventory(found) == "0 proofs listed: none; the listing may not be whole: no page was new"


def test_notes_are_one_line() -> None:
    """How many were wanted, and what became of them."""
    assert line_of_notes(NotesRefreshed(operation_id="o", wanted=3, states={"ready": 2, "gone": 1})) == (
        "3 proofs without a note: 1 gone, 2 ready"
    )
    assert line_of_notes(NotesRefreshed(operation_id=None, wanted=0, states={})).startswith("Every accepted proof has")


def test_a_recovery_is_one_line() -> None:
    """What was written comes first."""
    done = Recovered(operation_id="o", outcomes={"intact": 7, "recovered": 2, "failed": 1})

    assert line_of_recovery(done) == "10 sidecars: 2 recovered, 7 as they were accepted, 1 could not be had"
    assert line_of_recovery(Recovered(operation_id="o", outcomes={})) == "0 sidecars: none"


KNOWN = replace(rotation(NOW + timedelta(hours=71)), new_key_id="k2")


def test_a_rotation_is_three_lines() -> None:
    """What was done, what ends when, and what is to do."""
    first, second, third = lines_of_rotation(KNOWN, "/etc/key", was_done=False)

    assert first == "Rotated: the new key k2 is tested, and is in /etc/key."
    assert second.startswith("The old key ends at 2026-11-23 11:00 UTC.")
    assert third.startswith("Put the new key wherever else")


def test_a_repeat_says_that_nothing_was_done() -> None:
    """And how to rotate once more."""
    said = " ".join(lines_of_rotation(KNOWN, "/etc/key", was_done=True))

    assert (
        "was rotated at 2026-11-20 12:00 UTC, and nothing was done now. The new key k2 is in /etc/key. --again" in said
    )


def test_an_end_that_the_service_did_not_say_is_an_estimate() -> None:
    """The contract's 72 hours are named as such."""
    said = " ".join(lines_of_rotation(rotation(), "/etc/key", was_done=False))

    assert "about 2026-11-23 12:00 UTC: the service did not say when" in said


def test_the_object_is_the_row_with_the_place() -> None:
    """For programs."""
    document = json_of_rotation(KNOWN, "/etc/key", was_done=False)

    assert (document["new_key_id"], document["place"], document["was_done"]) == ("k2", "/etc/key", False)


def erasure(proof_id: str, outcome: str | None = "erased", reason: str | None = None) -> Erasure:
    """Make what became of one proof."""
    return Erasure(proof_id=proof_id, asked_at=NOW, answered_at=NOW, outcome=outcome, reason=reason, request_id="r-1")


def test_all_is_well_on_one_line() -> None:
    """The service answers alike for what is gone and for what never was."""
    done = [erasure("p1"), erasure("p2", "already_erased")]

    assert list(lines_of_erasures(done, 0)) == ["1 erased, 1 already erased or never there, 0 failed, 0 not asked for."]


def test_failures_are_named_with_what_to_do() -> None:
    """Ten of them; the table has all."""
    done = [erasure(f"p{number}", None, "http_500") for number in range(12)]

    lines = list(lines_of_erasures(done, 3, recovered=2))

    assert lines[0] == "Recorded 2 answers of an erasure that was killed."
    assert "12 failed, 3 not asked for" in lines[1]
    assert lines[2] == "  failed: p0 · http_500 · r-1"
    assert len([line for line in lines if "failed: " in line]) == 10
    assert "2 more" in lines[-2]
    assert lines[-1].startswith("Run the same command again")


def test_a_flow_s_state_names_no_proof() -> None:
    """Prefect keeps it in clear text."""
    assert "p1" not in line_of_erasures([erasure("p1", None, "timeout")], 0)


WELL: Row = {"elapsed_ms": 4.6, "trouble": None, "rate_remaining": None, "rate_limit": None, "rate_reset": None}


def test_a_round_is_one_line() -> None:
    """It says what is wrong, how long it took and what is left of the quota."""
    reset = datetime(2026, 12, 1, tzinfo=UTC)
    usage = WELL | {"call": "usage", "trouble": "throttled", "rate_remaining": 1_234, "rate_limit": 10_000}

    line = line_of_round([WELL | {"call": "health"}, usage | {"rate_reset": reset}])

    assert line == ("health well, 5 ms · usage throttled, 5 ms, 1,234 of 10,000 calls left until 2026-12-01 00:00 UTC")
    assert line_of_round([usage | {"rate_limit": None}]) == "usage throttled, 5 ms, 1,234 calls left"
