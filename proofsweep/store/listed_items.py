"""The items of a whole catalog, kept beside the plan of a run that leaves some of them out."""

import io
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA: Final = pa.schema([pa.field("item_id", pa.string(), nullable=False)])
# Item IDs that are encoded at once. Chosen: any value from 5,000 to 20,000 does.
_IDS_AT_ONCE = 10_000


class ListedItems:
    """Item IDs, packed in memory as one Parquet object: some 18 bytes for each."""

    def __init__(self) -> None:
        self.rows = 0
        self._packed = io.BytesIO()
        self._writer = pq.ParquetWriter(self._packed, SCHEMA, compression="zstd", use_dictionary=False)
        self._waiting: list[str] = []

    def add(self, item_id: str) -> None:
        """Add the item of the next row."""
        self.rows += 1
        self._waiting.append(item_id)
        if len(self._waiting) == _IDS_AT_ONCE:
            self._pack()

    def content(self) -> bytes:
        """Return the object; nothing can be added afterwards."""
        self._pack()
        self._writer.close()
        return self._packed.getvalue()

    def _pack(self) -> None:
        self._writer.write_batch(pa.RecordBatch.from_arrays([pa.array(self._waiting, pa.string())], schema=SCHEMA))
        self._waiting = []
