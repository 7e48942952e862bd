"""A key has one intent, and its rotation one row, however many processes write them; rows tell of the keys."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.operations import OperationKind, Rotation, RotationIntent
from proofsweep.operations.rotations import begin_rotation, begun_rotation, record_rotation, recorded_rotations
from proofsweep.store.operations import operation_ids
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


def test_the_first_intent_counts(results: Results) -> None:
    """Two processes then use the same Idempotency-Key; the operation has an intent too, without it."""
    store = results.store

    first = begin_rotation(store, INTENT)
    second = begin_rotation(
        store, replace(INTENT, operation_id="20261120T130000Z_000_rotation_bb", idempotency_key="another-one-00001")
    )

    assert first == second == begun_rotation(store, "0" * 12) == INTENT
    assert begun_rotation(store, "1" * 12) is None
    assert operation_ids(store) == [INTENT.operation_id]
    assert INTENT.idempotency_key.encode() not in (store.read(f"_runs/{INTENT.operation_id}/plan.json") or b"")


def test_a_damaged_intent_is_named(results: Results) -> None:
    """Without it an interrupted rotation would be asked for with another Idempotency-Key."""
    results.store.create(f"_keys/{INTENT.key_fingerprint}-rotation.json", b'{"operation_id": "x"}')

    with pytest.raises(ResultsError, match=r"rotation\.json .* is damaged"):
        begun_rotation(results.store, INTENT.key_fingerprint)


def test_the_first_row_counts(results: Results) -> None:
    """Of two processes at once, one writes it."""
    row = rotation()
    later = replace(row, answered_at=NOW + timedelta(seconds=5), replayed=True)

    assert record_rotation(results, row, NOW.date()) == record_rotation(results, later, NOW.date()) == row
    assert recorded_rotations(results) == [row]
