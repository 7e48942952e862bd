"""The suite never blames a service for what the contract allows: failures, throttling, a key that ends."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

import pytest

import proofsweep_sandbox as sandbox
from partner_conformance import CHECKS, FAILED, NOT_TRIED, PASSED, Result, Risk

from ..mutants.operator import MutantOperator
from ..mutants.right import RIGHT
from .conftest import Examine, Given

DEFAULT = [name for name, check in CHECKS.items() if check.risk is Risk.NONE]
WITHOUT_COST = [name for name, check in CHECKS.items() if check.risk is not Risk.SPENDS]
BURST = [name for name in CHECKS if name.startswith("errors-5")]


@pytest.fixture
def operator(operator: MutantOperator) -> Iterator[sandbox.Operator]:
    """The operator; faults are cleared after the test."""
    yield operator
    operator.clear_faults()


def complaints(results: list[Result]) -> dict[str, str]:
    """Return the findings of the failed checks."""
    return {each.check.name: each.said for each in results if each.result == FAILED}


def test_the_lane_of_rotation_is_told_from_a_throttle_that_a_burst_left(
    operator: MutantOperator, examine: Examine, furnish: Callable[[], Given]
) -> None:
    """After the burst of the checks of 429, usage is throttled for a moment; this is not the lane of rotation."""
    operator.set_lane(0.5, 4)
    operator.set_lane(1 / 12, 5, lane="rotate")

    results, _ = examine([*BURST, "rotate-has-a-lane-of-its-own"], furnish())

    assert complaints(results) == {}
    assert results[-1].result == PASSED, results[-1].said


@pytest.mark.parametrize("name", ["verdicts-accepted-one-file-is-valid", "endpoints-slot-needs-its-fields"])
def test_one_failure_of_the_storage_is_repeated_with_a_fresh_slot(
    name: str, operator: MutantOperator, examine: Examine, furnished: Given
) -> None:
    """A single 503 of the storage changes no result."""
    operator.add_fault("slot", "status", status=503, count=1)

    (result,), _ = examine([name], furnished)

    assert (result.result, result.said) == (PASSED, "")


@pytest.mark.parametrize("name", ["verdicts-accepted-one-file-is-valid", "endpoints-slot-needs-its-fields"])
def test_a_storage_that_goes_on_failing_is_no_answer(
    name: str, operator: MutantOperator, examine: Examine, furnished: Given
) -> None:
    """Neither a failed check nor a passed one."""
    operator.add_fault("slot", "status", status=503)

    (result,), _ = examine([name], furnished)

    assert (result.result, result.is_unanswered) == (NOT_TRIED, True)
    assert "503" in result.said


def test_a_key_that_is_revoked_stops_the_run(operator: MutantOperator, examine: Examine, furnished: Given) -> None:
    """No complaint, and no more than a handful of calls after the first refusal."""
    operator.add_fault("*", "status", status=403, code="forbidden", after=12)
    before = len(operator.exchanges())

    results, _ = examine(DEFAULT, furnished)

    refused = [each for each in operator.exchanges()[before:] if each["tenant"] and each["status"] == 403]
    assert complaints(results) == {}
    assert results[-1].result in {PASSED, NOT_TRIED}
    assert any(each.is_key_refused for each in results)
    assert len(refused) <= 10


def test_a_key_that_its_rotation_ends_is_a_complaint(
    operator: MutantOperator, examine: Examine, furnish: Callable[[], Given]
) -> None:
    """The old key must work for 72 hours: one complaint, and the checks after it are not tried."""
    given = furnish()
    operator.add_fault("*", "status", status=403, code="forbidden", after=5)

    results, _ = examine(
        ["rotate-answers-201-with-a-new-key", "rotate-old-key-works-everywhere", "rotate-changes-one-key-alone"], given
    )

    assert [each.result for each in results] == [PASSED, FAILED, NOT_TRIED]
    assert not any(each.is_key_refused for each in results)


def test_a_very_long_throttle_ends_the_waiting_at_once(
    operator: MutantOperator, examine: Examine, furnished: Given
) -> None:
    """A 429 that says to wait for twenty days is believed: the lane gets no more calls."""
    operator.add_fault("*", "status", status=429, code="rate_limited", retry_after=20 * 86_400, after=10)
    before = len(operator.exchanges())

    results, _ = examine([name for name in DEFAULT if name != "errors-5-429s-that-were-met"], furnished)

    keyed = [each for each in operator.exchanges()[before:] if each["status"] == 429]
    assert [name for name in complaints(results) if "429" not in name] == []
    assert sum(each["origin"] == "api" for each in keyed) <= 4  # each key, the rotation, and health
    assert any("1728000 s" in each.said for each in results)


def test_a_pending_note_is_not_polled_early(
    operator: MutantOperator, examine: Examine, furnish: Callable[[], Given]
) -> None:
    """All checks together ask for a pending note once, or wait as long as it says."""
    key, inputs = furnish()
    given = key, replace(inputs, pending_proof=None)  # another note
    operator.move_clock(-1)
    before = len(operator.exchanges())

    examine([name for name in DEFAULT if "interpretation" in name or "note" in name], given)

    operator.move_clock(1)
    polls = [
        each["at"]
        for each in operator.exchanges()[before:]
        if each["call"] == "interpretation" and each["status"] == 200
    ]
    assert polls
    assert all(later - earlier >= 2 for earlier, later in pairwise(polls))


@pytest.mark.parametrize("call", ["keys", "usage", "proofs", "proof", "asset", "interpretation", "uploads", "verify"])
@pytest.mark.parametrize("status", [500, 503])
def test_an_operation_that_goes_on_failing_is_no_answer(
    call: str, status: int, operator: MutantOperator, examine: Examine, furnished: Given
) -> None:
    """A persistent failure is documented (500): no check fails for it, wherever it is met."""
    operator.add_fault(call, "status", status=status)
    named = {"keys": "2", "usage": "usage", "proofs": "5", "proof": "6", "asset": "asset", "interpretation": "9"}
    word = named.get(call, {"uploads": "10", "verify": "11"}.get(call, ""))
    chosen = [name for name in DEFAULT if f"-{word}-" in name or name.startswith(("authentication-2", "errors-"))]

    results, _ = examine(chosen, furnished)

    assert complaints(results) == {}
    assert any(each.is_unanswered for each in results)


def test_a_failure_for_a_wrong_call_alone_is_a_complaint(
    operator: MutantOperator, examine: Examine, furnished: Given
) -> None:
    """A service that fails for half a JSON object, and for nothing else, breaks the contract."""
    operator.set_mutant("endpoints-11-malformed-body-is-refused~2")

    (result,), _ = examine(["endpoints-11-malformed-body-is-refused"], furnished)

    assert result.said == 'POST /verify with the body {"uploadId":  answered 500, not one of 400 to 499'


def test_the_checks_of_429_share_one_burst(operator: MutantOperator, examine: Examine, furnished: Given) -> None:
    """A service that never throttles costs them 600 calls together, not each."""
    operator.set_lane(100_000, 100_000)

    results, calls = examine([name for name in BURST if CHECKS[name].calls], furnished)

    assert {each.result for each in results} == {NOT_TRIED}
    assert 600 <= calls <= 610


@pytest.mark.parametrize("name", RIGHT)
def test_a_service_that_is_right_in_an_unusual_way_is_not_blamed(
    name: str, operator: MutantOperator, examine: Examine, furnish: Callable[[], Given]
) -> None:
    """Pages of any size, proofs that come meanwhile, other codes, a link that is down: at most an advice."""
    given = furnish()
    operator.set_mutant(name)

    results, _ = examine(WITHOUT_COST, given)

    assert complaints(results) == {}


def test_only_the_root_of_many_findings_is_a_failure(
    operator: MutantOperator, examine: Examine, furnished: Given
) -> None:
    """A service without slots fails the check of slots; what needs one is blocked by it."""
    operator.set_mutant("resources-upload-fields")

    results, _ = examine(DEFAULT, furnished)

    assert list(complaints(results)) == ["resources-upload-fields"]
    blocked = [each for each in results if each.blocked_by]
    assert len(blocked) > 20
    assert {each.blocked_by for each in blocked} == {"resources-upload-fields"}
