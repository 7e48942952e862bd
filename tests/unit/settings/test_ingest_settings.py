"""The section `[ingest]`."""

import pytest
from pydantic import ValidationError

from proofsweep.settings.ingest_settings import IngestSettings


@pytest.mark.parametrize("bad", [{"batch_wait_seconds": 0}, {"batch_moves": "file"}, {"tries": 0}])
def test_a_value_that_has_no_meaning_is_refused_by_its_name(bad: dict[str, object]) -> None:
    """It is refused when the settings are read, not when a pass begins."""
    with pytest.raises(ValidationError, match=next(iter(bad))):
        IngestSettings.model_validate(bad)


def test_deliveries_move_as_a_whole_unless_it_is_set_otherwise() -> None:
    """A consumer of accepted files never sees half a batch."""
    assert IngestSettings().batch_moves == "batch"
