"""What became of verified files, as rows of the `ingest` table; those of a leg are written once."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import datetime
from functools import partial
from typing import Any

from proofsweep.domain import layout
from proofsweep.domain.ingest import (
    Disposition,
    IngestRules,
    PastAnswer,
    Sighting,
    is_final,
    is_not_moved,
    supplier_of,
    text_of_versions,
)
from proofsweep.domain.items import WorkItem, printable
from proofsweep.domain.runs import Plan
from proofsweep.domain.tables.columns import Row
from proofsweep.errors import NameTaken
from proofsweep.storage.locations import path_within
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.ingest.dispose import Disposal, Placed, Verified
from proofsweep.usecases.ingest.past_answers import COLUMNS
from proofsweep.usecases.item.item_work import Clock

# Files that are moved at once, which mostly wait for a store. Chosen: half is slower in a bucket; twice needs twice the
# memory, since an object is held while it is moved.
_AT_ONCE = 4

Note = Callable[[str, Sequence[Row]], None]
"""Takes the name of a part of `ingest` and its rows."""

_ANSWER = tuple(each.name for each in fields(PastAnswer))


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Disposes of verified files, and writes down what became of them."""

    results: Results
    disposal: Disposal
    rules: IngestRules
    environment: str
    clock: Clock

    def has_leg(self, plan: Plan, leg: int) -> bool:
        """Say whether the files that a leg has verified are disposed of."""
        return self.results.store.read(layout.ingest_name(plan.run_id, plan.run_date, leg)) is not None

    def of_leg(self, plan: Plan, leg: int, sightings: Mapping[str, Sighting], note: Note) -> list[Row]:
        """Dispose of the files that a leg has verified, unless that is done; give its rows.

        `note` is called with the name of the part and its rows before they are written.
        """
        name = layout.ingest_name(plan.run_id, plan.run_date, leg)
        if not self.has_leg(plan, leg):
            rows = self._disposed(self._verified_by(plan, leg), sightings)
            note(name, rows)
            with suppress(NameTaken):
                self.results.create_part(name, "ingest", rows)
        return self.rows_of(name)

    def rows_of(self, part: str) -> list[Row]:
        """Read the rows of a part; none if it was never written."""
        is_there = self.results.store.read(part) is not None
        return self.results.table("ingest", [part]).to_pylist() if is_there else []

    def of_answered(
        self, answered: Iterable[tuple[WorkItem, PastAnswer]], name: str, note: Note, delivered_again: Collection[str]
    ) -> tuple[list[Row], list[Row]]:
        """Dispose of files that were answered before and still lie there.

        Gives the rows that it writes, and those of files that could not be moved. It writes what leaves, and what could
        not be moved only when it was just delivered again: a pass every minute must not repeat it.
        """
        rows = self._disposed(answered, {})
        stuck = [row for row in rows if is_not_moved(row)]
        new = [row for row in rows if row["disposition"] != Disposition.LEFT]
        new += [row for row in stuck if row["item_id"] in delivered_again]
        if new:
            note(name, [row for row in new if row["item_id"] in delivered_again])
            self.results.create_part(name, "ingest", new)
        return new, stuck

    def _verified_by(self, plan: Plan, leg: int) -> Iterator[tuple[WorkItem, PastAnswer]]:
        """Give the items that a leg has finished; their locations are the plan's, which are exact."""
        names = [name for name in self.results.parts_of("verdicts", plan) if layout.shard_and_leg_of(name)[1] == leg]
        for name in names:
            shard = layout.shard_and_leg_of(name)[0]
            items = {item.manifest_row: item for item in self.results.shard_items(plan.run_id, shard)}
            for row in self.results.table("verdicts", [name], ["manifest_row", *COLUMNS]).to_pylist():
                yield items[row.pop("manifest_row")], PastAnswer(verified_at=row.pop("finished_at"), **row)

    def _disposed(
        self, verified: Iterable[tuple[WorkItem, PastAnswer]], sightings: Mapping[str, Sighting]
    ) -> Sequence[Row]:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(partial(self._dispose, sightings), verified))

    def _dispose(self, sightings: Mapping[str, Sighting], verified: tuple[WorkItem, PastAnswer]) -> Row:
        item, answer = verified
        placed = self.disposal.place(
            Verified(
                outcome=answer.outcome,
                audio=item.audio,
                sidecar=item.sidecar,
                audio_sha256=answer.audio_sha256,
                sidecar_sha256=answer.sidecar_sha256,
            )
        )
        return self._row(item, answer, placed, sightings.get(item.item_id))

    def _row(self, item: WorkItem, answer: PastAnswer, placed: Placed, sighting: Sighting | None) -> Row:
        now, tries = self.clock(), _tries_before(sighting, item) + 1
        retry_at = None if is_final(answer.outcome, answer.reason) else self.rules.retry_at(tries, now)
        return {
            "run_id": answer.run_id,
            "leg": answer.leg,
            "environment": self.environment,
            "watched": printable(self.disposal.watched),
            "item_id": item.item_id,
            "audio": printable(item.audio),
            "sidecar": _printable(item.sidecar),
            "audio_bytes": answer.audio_bytes,
            "audio_version": item.audio_version,
            "sidecar_version": item.sidecar_version,
            "audio_sha256": answer.audio_sha256,
            "sidecar_sha256": answer.sidecar_sha256,
            "supplier": _printable(supplier_of(path_within(item.audio, self.disposal.watched))),
            "outcome": answer.outcome,
            "reason": answer.reason,
            "tries": tries,
            "retry_at": retry_at,
            "disposition": str(placed.disposition),
            "audio_moved_to": _printable(placed.audio),
            "sidecar_moved_to": _printable(placed.sidecar),
            "detail": placed.detail,
            "first_seen_at": None if sighting is None else sighting.since,
            "verified_at": answer.verified_at,
            "acted_at": now,
        }


def sightings_after(rows: Iterable[Row], before: Mapping[str, Sighting], now: datetime) -> dict[str, Sighting]:
    """Give what is known of waiting files after these rows: an answer ends the waiting, a failure is counted."""
    known = dict(before)
    for row in rows:
        item_id, reason = str(row["item_id"]), row["reason"]
        if is_final(str(row["outcome"]), None if reason is None else str(reason)):
            known.pop(item_id, None)
            continue
        versions = text_of_versions(_text(row["audio_version"]), _text(row["sidecar_version"]))
        seen, retry_at = row["first_seen_at"], row["retry_at"]
        known[item_id] = Sighting(
            version=versions,
            since=seen if isinstance(seen, datetime) else now,
            tries=int(str(row["tries"])),
            retry_at=retry_at if isinstance(retry_at, datetime) else None,
        )
    return known


def answers_after(rows: Iterable[Row], before: Mapping[str, PastAnswer]) -> dict[str, PastAnswer]:
    """Give the newest answers after these rows, the newest last."""
    known = dict(before)
    for row in rows:
        cells: dict[str, Any] = {name: row[name] for name in _ANSWER}
        if is_final(cells["outcome"], cells["reason"]):
            known.pop(cells["item_id"], None)
            known[cells["item_id"]] = PastAnswer(**cells)
    return known


def _tries_before(sighting: Sighting | None, item: WorkItem) -> int:
    same = sighting is not None and sighting.version == text_of_versions(item.audio_version, item.sidecar_version)
    return sighting.tries if sighting is not None and same else 0


def _printable(text: str | None) -> str | None:
    return None if text is None else printable(text)


def _text(cell: object) -> str | None:
    return None if cell is None else str(cell)
