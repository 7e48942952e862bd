"""What became of a list of proofs is counted, and failures are named."""

from datetime import UTC, datetime

from proofsweep.answers.operation_lines import json_of_erasures, line_of_erasures, lines_of_erasures
from proofsweep.model.proofs import Erasure

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


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


def test_the_object_has_every_proof() -> None:
    """For programs."""
    document = json_of_erasures("op", [erasure("p1")], 0, 0)

    assert (document["erased"], document["proofs"]) == (1, [erasure("p1").row()])
