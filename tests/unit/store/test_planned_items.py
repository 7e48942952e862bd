"""A planned item survives being written to a shard."""

from collections.abc import Callable

import pyarrow as pa
import pytest

from proofsweep.domain.items import Row, WorkItem
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.store.tables import schemas
from proofsweep.store.tables.planned_items import planned_item, planned_row


@pytest.mark.parametrize(
    "item",
    [
        WorkItem(manifest_row=0, item_id="i", audio="/a.wav", audio_bytes=1, audio_version="v", tags_json="{}"),
        WorkItem(manifest_row=0, item_id="i", audio="/c/a.wav", relative_path="a.wav"),
        WorkItem(manifest_row=1, item_id="i", audio="/caf\udce9\n.wav", sidecar="/s\udcff"),
        WorkItem(manifest_row=2, item_id="i", audio="", ineligible=Ineligible(Reason.MISSING_AUDIO, "None.")),
        WorkItem(manifest_row=3, item_id="i", audio="/b/r/a.wav", is_delivered=True),
    ],
)
def test_a_planned_item_is_read_as_it_was_written(item: WorkItem, read_back: Callable[[Row, pa.Schema], Row]) -> None:
    """Its locations are the same bytes, also if a file's name is not UTF-8."""
    assert planned_item(read_back(planned_row(item), schemas.ITEMS)) == item
