"""The section `[ingest]`."""

import pytest
from pydantic import ValidationError

from proofsweep.settings.ingest_settings import IngestSettings


@pytest.mark.parametrize(
    "bad", [{"batch_wait_seconds": 0}, {"batch_moves": "file"}, {"acknowledgements": "pdf"}, {"party_id": ""}]
)
def test_a_value_that_has_no_meaning_is_refused_by_its_name(bad: dict[str, object]) -> None:
    """It is refused when the settings are read, not when a pass begins."""
    with pytest.raises(ValidationError, match=next(iter(bad))):
        IngestSettings.model_validate(bad)


def test_deliveries_move_as_a_whole_and_are_acknowledged_unless_it_is_set_otherwise() -> None:
    """So a sender is told what became of a batch."""
    settings = IngestSettings()

    assert (settings.batch_moves, settings.acknowledgements, settings.party_id) == ("batch", "xml", None)
