"""A key belongs to one service; it has one intent, and its rotation one row, however many processes write them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.operations import Rotation, RotationIntent, is_recent, why_conflict
from proofsweep.store.keys import Rotations, bind_key
from proofsweep.store.operations import Operations
from proofsweep.store.parts import Results

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
INTENT = RotationIntent(
    operation_id="20261120T120000Z_000_rotation_aa",
    idempotency_key="rotation-number-1",
    environment="beta",
    base_url="https://partner.example/v1",
    key_fingerprint="0" * 12,
    location="/key",
    created_at=NOW.isoformat(),
)


def rotation(expires_at: datetime | None = None) -> Rotation:
    """Make a rotation of which the service said when the old key ends, or did not."""
    return Rotation(
        operation_id=INTENT.operation_id,
        environment="beta",
        key_fingerprint="0" * 12,
        new_key_fingerprint="1" * 12,
        requested_at=NOW,
        answered_at=NOW,
        previous_key_expires_at=expires_at,
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


@pytest.mark.parametrize(("hours", "expected"), [(0, True), (71, True), (72, False), (-5, True)])
def test_a_rotation_is_recent_while_the_old_key_works(hours: int, *, expected: bool) -> None:
    """A clock that was set back makes it no older."""
    assert is_recent(rotation(), NOW + timedelta(hours=hours)) == expected


@pytest.mark.parametrize(
    ("hours", "was_asked_before", "expected"),
    [
        (0, False, "The key was rotated before, elsewhere"),
        (100, False, "The key was rotated before, elsewhere"),
        (5, True, "began at 2026-11-20 12:00 UTC, and the service does not answer it again. The key was rotated"),
        (24, True, "Nobody can get the new key any more"),
        (24, True, "ends at 2026-11-23 12:00 UTC at the latest"),
    ],
)
def test_a_conflict_is_explained(hours: int, *, was_asked_before: bool, expected: str) -> None:
    """By what this store knows of the rotation."""
    assert expected in why_conflict(INTENT, NOW + timedelta(hours=hours), was_asked_before=was_asked_before)
