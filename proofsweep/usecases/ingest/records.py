"""What became of verified files, as rows of the `ingest` table; those of a leg are written once."""

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import datetime
from itertools import islice
from typing import Any

from proofsweep.domain import layout
from proofsweep.domain.ingest import (
    Disposition,
    IngestRules,
    Move,
    PastAnswer,
    Sighting,
    is_final,
    supplier_of,
    text_of_versions,
)
from proofsweep.domain.items import WorkItem, printable
from proofsweep.domain.runs import Plan, new_run_id
from proofsweep.domain.tables.columns import Row
from proofsweep.errors import NameTaken
from proofsweep.storage.locations import path_within
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.storage.results.watches import Watch
from proofsweep.usecases.ingest.dispose import Disposal, Placed
from proofsweep.usecases.ingest.past_answers import COLUMNS
from proofsweep.usecases.item.item_work import Clock

# Files that are moved at once, which mostly wait for a store. Chosen: half is slower in a bucket; twice needs twice the
# memory, since an object is held while it is moved.
_AT_ONCE = 4

# Files whose names are chosen and noted together. Chosen: half makes twice the writes; twice notes a megabyte at once.
_WAVE = 500

_ANSWER = tuple(each.name for each in fields(PastAnswer))


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Disposes of verified files, and writes down what became of them; made for one pass.

    Attributes:
        half: moves that could neither be finished nor undone, for the next pass.
    """

    results: Results
    watch: Watch
    disposal: Disposal
    rules: IngestRules
    environment: str
    clock: Clock
    half: list[Move] = field(default_factory=list)

    def has_leg(self, plan: Plan, leg: int) -> bool:
        """Say whether the files that a leg has verified are disposed of."""
        return self.results.store.read(layout.ingest_name(plan.run_id, plan.run_date, leg)) is not None

    def of_leg(self, plan: Plan, leg: int, sightings: Mapping[str, Sighting]) -> list[Row]:
        """Dispose of the files that a leg has verified, unless that is done; give its rows."""
        name = layout.ingest_name(plan.run_id, plan.run_date, leg)
        if not self.has_leg(plan, leg):
            waves = _waves(self._verified_by(plan, leg))
            rows = [row for wave in waves for row in self._disposed(wave, sightings, part=None)]
            with suppress(NameTaken):
                self.results.create_part(name, "ingest", rows)
            self._end_moves()
        return self.results.table("ingest", [name]).to_pylist()

    def of_answered(self, answered: Iterable[tuple[WorkItem, PastAnswer]]) -> list[Row]:
        """Dispose of files that were answered before and still lie there; write the rows of those that are moved."""
        found: list[Row] = []
        for wave in _waves(answered):
            part = self._new_part()
            found += self._written(part, self._disposed(wave, {}, part))
            self._end_moves()
        return found

    def of_killed_pass(self) -> list[Row]:
        """Finish or undo the moves that a killed pass had begun; write the rows that nobody else writes."""
        part, begun = self.watch.moves()
        if not begun:
            return []
        rows = [self._row(move.item, move.answer, self._moved(move), None) for move in begun]
        written = [] if part is None else self._written(part, rows)
        self._end_moves()
        return written

    def _written(self, part: str, rows: Iterable[Row]) -> list[Row]:
        gone_or_moved = [row for row in rows if row["disposition"] != Disposition.LEFT]
        if gone_or_moved:
            with suppress(NameTaken):
                self.results.create_part(part, "ingest", gone_or_moved)
        return gone_or_moved

    def _new_part(self) -> str:
        now = self.clock()
        return layout.ingest_name(new_run_id(now, secrets.token_hex(3)), now.date(), 0)

    def _verified_by(self, plan: Plan, leg: int) -> Iterator[tuple[WorkItem, PastAnswer]]:
        """Give the items that a leg has finished; their locations are the plan's, which are exact."""
        names = [name for name in self.results.parts_of("verdicts", plan) if layout.shard_and_leg_of(name)[1] == leg]
        for name in names:
            shard = layout.shard_and_leg_of(name)[0]
            items = {item.manifest_row: item for item in self.results.shard_items(plan.run_id, shard)}
            for row in self.results.table("verdicts", [name], ["manifest_row", *COLUMNS]).to_pylist():
                yield items[row.pop("manifest_row")], PastAnswer(verified_at=row.pop("finished_at"), **row)

    def _disposed(
        self, verified: Sequence[tuple[WorkItem, PastAnswer]], sightings: Mapping[str, Sighting], part: str | None
    ) -> list[Row]:
        """Dispose of some files: (1) choose all names, (2) note the moves, (3) make them.

        After a kill, `part` takes the rows; without one, somebody disposes of these files again.
        """
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            chosen = list(pool.map(lambda each: self.disposal.chosen(*each), verified))  # (1)
            self.watch.keep_moves(part, [*self.half, *(each for each in chosen if isinstance(each, Move))])  # (2)
            placed = pool.map(lambda each: self._moved(each) if isinstance(each, Move) else each, chosen)  # (3)
            return [
                self._row(item, answer, at, sightings.get(item.item_id))
                for (item, answer), at in zip(verified, placed, strict=True)
            ]

    def _moved(self, move: Move) -> Placed:
        placed = self.disposal.moved(move)
        if placed.is_half and all(each.audio != move.audio for each in self.half):
            self.half.append(move)
        return placed

    def _end_moves(self) -> None:
        self.watch.keep_moves(self._new_part(), self.half)

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


def _waves(verified: Iterable[tuple[WorkItem, PastAnswer]]) -> Iterator[list[tuple[WorkItem, PastAnswer]]]:
    waiting = iter(verified)
    while wave := list(islice(waiting, _WAVE)):
        yield wave


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
