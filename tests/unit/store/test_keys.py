"""A key belongs to one service; it has one intent, and its rotation one row, however many processes write them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.operations import OperationKind, Rotation, RotationIntent
from proofsweep.store.keys import Rotations, bind_key
from proofsweep.store.operations import Operations
from proofsweep.store.parts import Results

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
INTENT = RotationIntent(
    operation_id="20261120T120000Z_000_rotation_aa",
    kind=OperationKind.ROTATION,
    started_at=NOW,
    idempotency_key="rotation-number-1",
    environment="beta",
    base_url="https://partner.example/v1",
    key_fingerprint="0" * 12,
    location="/key",
)


def rotation() -> Rotation:
    return Rotation(
        operation_id=INTENT.operation_id,
        environment="beta",
        key_fingerprint="0" * 12,
        new_key_fingerprint="1" * 12,
        requested_at=NOW,
        answered_at=NOW,
    )


def test_a_key_belongs_to_the_service_it_was_first_used_with(results: Results) -> None:
    """Keys of two environments are never interchangeable (contract, Authentication 6)."""
    store = results.store
    bind_key(store, "abc", "https://one.example/v1")
    bind_key(store, "abc", "https://one.example/v1")
    bind_key(store, "def", "https://two.example/v1")

    with pytest.raises(ResultsError, match=r"https://one\.example/v1 before"):
        bind_key(store, "abc", "https://two.example/v1")


def test_the_first_intent_counts(results: Results) -> None:
    """Two processes then use the same Idempotency-Key; the operation has an intent too, without it."""
    rotations = Rotations(Operations(results))

    first = rotations.begin(INTENT)
    second = rotations.begin(
        replace(INTENT, operation_id="20261120T130000Z_000_rotation_bb", idempotency_key="another-one-00001")
    )

    assert first == second == rotations.begun("0" * 12) == INTENT
    assert rotations.begun("1" * 12) is None
    assert Operations(results).ids() == [INTENT.operation_id]
    assert INTENT.idempotency_key not in str(Operations(results).plan(INTENT.operation_id))


def test_a_damaged_intent_is_named(results: Results) -> None:
    """Without it an interrupted rotation would be asked for with another Idempotency-Key."""
    results.store.create(f"_keys/{INTENT.key_fingerprint}-rotation.json", b'{"operation_id": "x"}')

    with pytest.raises(ResultsError, match=r"rotation\.json .* is damaged"):
        Rotations(Operations(results)).begun(INTENT.key_fingerprint)


def test_the_first_row_counts(results: Results) -> None:
    """Of two processes at once, one writes it."""
    rotations, row = Rotations(Operations(results)), rotation()
    later = replace(row, answered_at=NOW + timedelta(seconds=5), replayed=True)

    assert rotations.record(row, NOW.date()) == rotations.record(later, NOW.date()) == row
    assert rotations.answered() == [row]
