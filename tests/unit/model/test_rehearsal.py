"""A rehearsal is a value: what is told of it never changes afterwards."""

from dataclasses import FrozenInstanceError
from datetime import UTC, datetime

import pytest

from proofsweep.model.forecast import Bind
from proofsweep.model.rehearsal import Remedy


def test_what_was_told_cannot_be_changed() -> None:
    """A remedy without an amount takes a bound away."""
    remedy = Remedy(
        bind=Bind.WINDOW,
        amount=None,
        seconds=60.0,
        ends_at=datetime(2026, 11, 20, 10, tzinfo=UTC),
        rows_left=0,
        helps=True,
    )

    with pytest.raises(FrozenInstanceError):
        remedy.rows_left = 1  # type: ignore[misc]  # what must fail
