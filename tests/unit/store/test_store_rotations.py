"""A key has one intent, and its rotation one row, however many processes write them."""

from dataclasses import replace
from datetime import timedelta

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.store.operations import Operations
from proofsweep.store.parts import Results
from proofsweep.store.rotations import Rotations

from .test_key_rotation import INTENT, NOW, rotation


def test_the_first_intent_counts(results: Results) -> None:
    """Two processes then use the same Idempotency-Key; the operation has an intent too, without it."""
    rotations = Rotations(results)

    first = rotations.begin(INTENT)
    second = rotations.begin(
        replace(INTENT, operation_id="20261120T130000Z_000bb", idempotency_key="another-one-00001")
    )

    assert first == second == rotations.begun("0" * 12) == INTENT
    assert Operations(results).ids() == [INTENT.operation_id]
    assert INTENT.idempotency_key not in str(Operations(results).intent(INTENT.operation_id))


def test_another_key_has_no_intent(results: Results) -> None:
    """It was never rotated."""
    Rotations(results).begin(INTENT)

    assert Rotations(results).begun("1" * 12) is None


def test_a_damaged_intent_is_named(results: Results) -> None:
    """Without it an interrupted rotation would be asked for with another Idempotency-Key."""
    results.store.create(f"_keys/{INTENT.key_fingerprint}-rotation.json", b'{"operation_id": "x"}')

    with pytest.raises(ResultsError, match=r"rotation\.json .* is damaged"):
        Rotations(results).begun(INTENT.key_fingerprint)


def test_the_first_row_counts(results: Results) -> None:
    """Of two processes at once, one writes it."""
    rotations, row = Rotations(results), rotation()
    later = replace(row, answered_at=NOW + timedelta(seconds=5), replayed=True)

    assert rotations.record(row, NOW.date()) == rotations.record(later, NOW.date()) == row
    assert rotations.answered() == [row]
