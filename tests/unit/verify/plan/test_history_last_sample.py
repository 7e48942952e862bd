"""A sample is remembered for the forecast of the run that follows."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.model.forecast import Measurement
from proofsweep.model.layout import sample_name
from proofsweep.model.observed import ObservedService
from proofsweep.store.store import open_store
from proofsweep.verify.plan.history import remember_sample, remembered_sample

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
SEEN = ObservedService(origin="a sample of 20", rows=20, measured_at=NOON, slot_seconds=[0.1], verify_seconds=[0.2])
SAMPLE = Measurement(rows=20, seconds=4.5, calls=42, upload_share=0.5, service=SEEN)


def test_the_last_sample_of_an_environment_is_given(tmp_path: Path) -> None:
    """Each environment has its own."""
    store = open_store(str(tmp_path))
    assert remembered_sample(store, "beta") is None

    remember_sample(store, "beta", Measurement(rows=1, seconds=1.0, calls=4), NOON)
    remember_sample(store, "beta", SAMPLE, NOON)

    assert remembered_sample(store, "beta") == (SAMPLE, NOON)
    assert remembered_sample(store, "production") is None


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"sample": {"rows": 1}, "measured_at": "x"}', b'{"sample": "x"}']
)
def test_a_sample_that_cannot_be_understood_is_none(tmp_path: Path, content: bytes) -> None:
    """It is derived: a later version may write other members."""
    store = open_store(str(tmp_path))
    store.replace(sample_name("beta"), content)

    assert remembered_sample(store, "beta") is None
