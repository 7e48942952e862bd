"""Results stores of many nights, which are made without a service: each run is left behind as its leg leaves one.

`python -m benchmarks.built_store FOLDER [--items 2000] [--nights 1] [--rows 500]` fills one, to be looked at.
"""

import argparse
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.items import Row
from proofsweep.domain.runs import Plan, new_run_id
from proofsweep.store import layout
from proofsweep.store.legs import Legs
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import ITEMS, SCHEMAS, Results, conformed, parquet_of
from proofsweep.verify.commit import LegParts, commit_leg

URL = "https://partner.example/v1"
CATALOG = "s3://masters/catalog"
_PART_ROWS = 25_000
_LISTING_ROWS = 100_000


class QuickFolder(FolderStore):
    """A folder that does not wait for the disk: what is measured is reading."""

    def create(self, name: str, content: bytes) -> None:
        path = Path(self.url, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def plan_at(began: datetime, items: int, *, catalog: str = CATALOG, batch_items: int = 1_000) -> Plan:
    return Plan(
        run_id=new_run_id(began, "aaaaaa"),
        created_at=began.isoformat(),
        environment="production",
        base_url=URL,
        catalog=catalog,
        catalog_kind="folder",
        catalog_digest="00",
        items=items,
        eligible=items,
        pairs=0,
        audio_bytes=0,
        batch_items=batch_items,
    )


def leave_run(results: Results, plan: Plan, is_accepted: Iterable[bool], *, first: int = 0, rows: int = 0) -> None:
    """Leave a run of the items from `first` on behind: items, plan, a leg, parts of so many rows, receipt."""
    results.write_plan(plan)
    answers = np.fromiter(is_accepted, bool, plan.items)
    for number, batch in enumerate(plan.batches):
        content = parquet_of(planned_rows(plan, batch, first))
        results.store.create(layout.items_name(plan.run_id, number), content)
    part_rows = rows or _PART_ROWS
    for seq, start in enumerate(range(0, plan.items, part_rows)):
        chosen = range(start, min(start + part_rows, plan.items))
        table = verdicts_rows(plan, chosen, first, answers[chosen.start : chosen.stop])
        results.create_part(layout.part_name("verdicts", plan.run_id, plan.run_date, seq, 1), "verdicts", table)
    Legs(results, plan).begin({})
    began = datetime.fromisoformat(plan.created_at)
    facts: Row = {"started_at": began, "finished_at": began + timedelta(minutes=30)}
    facts |= {"key_fingerprint": "abc", "rate_learned": 5.0}
    commit_leg(LegParts.found(results, plan, 1), EndedBy.COMPLETE, facts)


def verdicts_rows(plan: Plan, rows: range, first: int, is_accepted: np.ndarray) -> pa.Table:
    """Make finished rows; names, tags and digests are as long as real ones."""
    alike = {"run_id": plan.run_id, "leg": 1, "environment": plan.environment, "verify_attempts": 1, "calls": 2}
    alike |= {"classification": "human", "grade_human": 0.9, "grade_rubric_version": "1"}
    alike |= {"finished_at": datetime.fromisoformat(plan.created_at)}
    cells = _cells_of(plan, rows, first)
    cells |= {name: [cell] * len(rows) for name, cell in alike.items()}
    cells["audio_sha256"] = [f"{first + row:064x}" for row in rows]
    cells["accepted"] = is_accepted.tolist()
    for name, yes, no in (
        ("outcome", "accepted", "rejected"),
        ("action", "accept", "reject"),
        ("verdict", "valid", "tampered"),
        ("reason", None, "tampered"),
    ):
        cells[name] = [yes if accepted else no for accepted in cells["accepted"]]
    return _table(cells, SCHEMAS["verdicts"])


def planned_rows(plan: Plan, rows: range, first: int) -> pa.Table:
    cells = _cells_of(plan, rows, first)
    return _table(cells | {"audio": [str(audio).encode() for audio in cells["audio"]]}, ITEMS)


def _cells_of(plan: Plan, rows: range, first: int) -> dict[str, list[object]]:
    numbers = [first + row for row in rows]
    names = [f"label-{each % 97:02}/release-{each // 12:06}/track-{each:08}.wav" for each in numbers]
    return {
        "manifest_row": list(rows),
        "item_id": list(names),
        "relative_path": list(names),
        "audio": [f"{plan.catalog}/{name}" for name in names],
        "tags": [
            f'{{"isrc": "QZ-AB1-26-{each:07}", "supplier": "s{each % 41}", "title": "Song {each % 9_973}", '
            f'"artist": "Artist {each % 7_919}"}}'
            for each in numbers
        ],
    }


def _table(cells: dict[str, list[object]], schema: pa.Schema) -> pa.Table:
    there = pa.schema([field for field in schema if field.name in cells])
    return conformed(pa.Table.from_pydict({name: cells[name] for name in there.names}, there), schema)


def build(store: Path, items: int, nights: int, rows: int) -> None:
    """Leave a night of a whole catalog behind, then nights that listed it too, and verified so many of its files."""
    results, lots = Results(QuickFolder(store)), np.random.default_rng(1)
    results.store.begin()  # the process that makes the base of latest answers begins none
    began = datetime.now(UTC).replace(hour=2, minute=0, second=0, microsecond=0) - timedelta(days=nights)
    for night in range(nights):
        plan, first = plan_at(began + timedelta(days=night), items), 0
        if night > 0:
            plan = replace(plan, items=rows, eligible=rows, skipped=items - rows, selection="--since-last")
            first = int(lots.integers(items - rows + 1))
        if plan.skipped and night == nights - 1:
            _leave_listing(results, plan, items)  # of the nights before nobody reads it any more
        leave_run(results, plan, lots.random(plan.items) < 0.95, first=first)  # noqa: PLR2004 - as in a good catalog
    results.log.keep()  # as each leg does at its end


def _leave_listing(results: Results, plan: Plan, items: int) -> None:
    for number, start in enumerate(range(0, items, _LISTING_ROWS)):
        rows = range(start, min(start + _LISTING_ROWS, items))
        name = layout.items_name(plan.run_id, number, "listed")
        results.store.create(name, parquet_of(planned_rows(plan, rows, 0)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--items", type=int, default=2_000)
    parser.add_argument("--nights", type=int, default=1)
    parser.add_argument("--rows", type=int, default=500, help="rows of each night but the first")
    chosen = parser.parse_args()
    build(chosen.folder, chosen.items, chosen.nights, chosen.rows)
