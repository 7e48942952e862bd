"""Which files an earlier leg could read."""

import pyarrow.compute as pc

from proofsweep.domain.runs import Plan
from proofsweep.storage.locations import is_bucket, root_and_key
from proofsweep.storage.results.results import Results


def read_before(results: Results, plan: Plan, root: str) -> str | None:
    """Name an audio file of a bucket that an earlier leg of this run has read to its end; None if there is none."""
    for name in results.parts_of("verdicts", plan):
        part = results.table("verdicts", [name], ["audio", "audio_sha256"])
        for location in part["audio"].filter(pc.is_valid(part["audio_sha256"])).to_pylist():
            if isinstance(location, str) and is_bucket(location) and root_and_key(location)[0] == root:
                return location
    return None
