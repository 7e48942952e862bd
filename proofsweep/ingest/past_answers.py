"""The newest answers of listed items: those of the snapshot, and those of legs that it does not hold yet."""

from collections.abc import Collection, Iterator
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.model.ingest import PastAnswer
from proofsweep.model.tables.schemas import SNAPSHOT
from proofsweep.model.tables.snapshot import ANSWERED
from proofsweep.store.known_rows import newest_answers
from proofsweep.store.newest_rows import newest_rows
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import RunIndex
from proofsweep.store.snapshot import Snapshot, missing_legs
from proofsweep.verify.leg.note_leg import LegRows

COLUMNS = [
    *("run_id", "leg", "item_id", "outcome", "reason", "audio_bytes", "audio_version", "audio_sha256"),
    *("sidecar_version", "sidecar_sha256", "finished_at"),
]
"""The columns of `verdicts` that are read of an answer."""


def past_answers(results: Results, environment: str, item_ids: Collection[str]) -> dict[str, PastAnswer]:
    """Return the newest answer of each item that has one in an environment, by item ID.

    Raises:
        ResultsError: the store cannot be read.
    """
    if not item_ids:
        return {}
    tables = chain(newest_answers(results, environment, item_ids), _not_in_snapshot(results, environment, item_ids))
    rows = newest_rows(pa.concat_tables([SNAPSHOT.empty_table(), *tables], promote_options="default"))
    answers = (PastAnswer(verified_at=row.pop("finished_at"), **row) for row in rows.select(COLUMNS).to_pylist())
    return {answer.item_id: answer for answer in answers}


def _not_in_snapshot(results: Results, environment: str, item_ids: Collection[str]) -> Iterator[pa.Table]:
    """Read the answers of legs whose update of the snapshot failed: without them a file would be sent again."""
    wanted = pc.field("item_id").isin(list(item_ids)) & pc.field("outcome").isin(ANSWERED)
    runs = (run for run in RunIndex(results).refreshed().newest_first() if run.plan.environment == environment)
    for plan, legs in missing_legs(Snapshot(results.store).entries(), runs):
        yield from (table.filter(wanted) for table in LegRows(results, plan, legs))
