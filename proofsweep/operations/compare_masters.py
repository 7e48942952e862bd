"""Compare the assets that were verified with the digests of masters that the list of proofs gave."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from proofsweep.model.runs import Plan
from proofsweep.store.plans_and_parts import Results

_TAG = "sha256"
"""The column of the list, in any case, that holds the hex sha256 of a master."""


@dataclass(frozen=True, slots=True)
class Master:
    """An item whose list gave a digest: whether the asset that was sent has it."""

    item_id: str
    is_same: bool


def compared_masters(results: Results, plan: Plan) -> Iterator[Master]:
    """Give each item of a run that was sent and has a digest of its master; ResultsError if a part cannot be read."""
    columns = ["item_id", "audio_sha256", "tags"]
    for table in results.tables(results.parts_of("verdicts", plan), columns):
        for row in table.to_pylist():
            tags = {name.strip().lower(): value for name, value in json.loads(row["tags"] or "{}").items()}
            master = str(tags.get(_TAG) or "").strip().lower()
            if master and row["audio_sha256"] is not None:
                yield Master(row["item_id"], master == row["audio_sha256"])
