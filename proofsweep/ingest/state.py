"""What passes over one watched folder remember, and what became of verified files, as rows of `ingest`."""

import json
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Self

from pydantic import TypeAdapter

from proofsweep.config.locations import path_within
from proofsweep.config.sections import IngestSettings
from proofsweep.config.threads import sleep, some_at_once
from proofsweep.domain.errors import NameTaken, ResultsError
from proofsweep.domain.items import Row, WorkItem, utf8_text
from proofsweep.domain.runs import Plan, new_run_id
from proofsweep.domain.tags import SUPPLIER_TAG, tags_of
from proofsweep.ingest.deliveries import IN_BATCH
from proofsweep.ingest.moves import AT_ONCE, Disposal, DisposalResult, Move
from proofsweep.ingest.rules import (
    ANSWER_COLUMNS,
    VERDICTS,
    Disposition,
    PastAnswer,
    Sighting,
    answer_of,
    own_lists,
    retry_at,
    stands,
    supplier_of,
    text_of_versions,
)
from proofsweep.sources.catalog import Catalog
from proofsweep.store import layout
from proofsweep.store.objects import Store
from proofsweep.store.parts import Results
from proofsweep.verify.item import Clock

_BATCH = 500  # files whose names are chosen and noted together
_STATE = "state.json"
_HELD = "held.json"

_Answered = tuple[WorkItem, PastAnswer]

_MOVES, _TEXTS = TypeAdapter(tuple[Move, ...]), TypeAdapter(dict[str, str])
_KINDS: Mapping[str, TypeAdapter[Any]] = {
    "sightings": TypeAdapter(dict[str, Sighting]),
    "part": TypeAdapter(str | None),
    "moves": _MOVES,
    "runs": TypeAdapter(list[str]),
    "spoken": _TEXTS,
    "asks_held": TypeAdapter(bool),
}
_DOCUMENTS: Mapping[str, Mapping[str, TypeAdapter[Any]]] = {_STATE: _KINDS, _HELD: {"held": _MOVES}}


@dataclass(slots=True, kw_only=True)
class FolderState:
    """What passes over one watched folder remember, in documents of the ingest store. `name` is a watch ID."""

    store: Store
    name: str
    sightings: dict[str, Sighting] = field(default_factory=dict)  # of files that wait, by their places
    part: str | None = None  # takes the rows of the moves, if nobody else writes them
    moves: Sequence[Move] = ()  # that have begun, and did not end
    runs: list[str] = field(default_factory=list)  # that were begun and not disposed of, oldest first
    # Of files that were moved away from under a list of checksums, by their places: the version of the list, which says
    # nothing of the next file that comes there.
    spoken: dict[str, str] = field(default_factory=dict)
    # Deliveries in quarantine that hold accepted files; a document of its own, since few passes change it.
    held: Sequence[Move] = ()
    asks_held: bool = False  # whether a file was moved since it was last asked which of them go on

    @classmethod
    def load(cls, store: Store, name: str) -> Self:
        """Read what was saved; ResultsError if it is damaged."""
        facts: dict[str, Any] = {}
        for document, kinds in _DOCUMENTS.items():
            content = store.read(f"{name}/{document}")
            if content is None:
                continue
            try:
                found = json.loads(content)
                facts |= {each: kind.validate_python(found[each]) for each, kind in kinds.items()}
            except (ValueError, TypeError, KeyError) as damage:
                raise ResultsError(
                    f"{name}/{document} in {store.url} is damaged: see whether each pair is whole where files are "
                    "moved, then delete it."
                ) from damage
        return cls(store=store, name=name, **facts)

    def save(self) -> None:
        self._write(_STATE)

    @property
    def held_places(self) -> tuple[set[str], set[str]]:
        """Where accepted files of held deliveries were, and all that is no audio; and where their other audio was."""
        others = {item.audio for move in self.held for item, answer in move.items if answer.outcome != "accepted"}
        return {file.source for move in self.held for file in move.files} - others, others

    def hold(self, held: Sequence[Move]) -> None:
        """Note which deliveries in quarantine hold accepted files."""
        if [*held] != [*self.held]:
            self.held = held
            self._write(_HELD)

    def _write(self, document: str) -> None:
        def plain(value: Any) -> object:  # noqa: ANN401 - a dataclass or a time
            return value.isoformat() if isinstance(value, datetime) else asdict(value)

        facts = {name: getattr(self, name) for name in _DOCUMENTS[document]}
        self.store.replace(f"{self.name}/{document}", json.dumps(facts, default=plain).encode())

    def open_run(self, run_id: str) -> None:
        """Note a run before it is planned, so that none is forgotten."""
        self.runs.append(run_id)
        self.save()

    def close_run(self, run_id: str) -> None:
        """Forget a run: all its files are disposed of, or it was never planned."""
        self.runs.remove(run_id)
        self.save()


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestContext:
    """What all passes of one store are given."""

    results: Results
    environment: str
    settings: IngestSettings
    sidecar_field: str | None
    open_catalog: Callable[[str], Catalog]
    plan: Callable[[Catalog, str], Plan]
    clock: Clock
    new_run_id: Callable[[], str]
    rest: Callable[[float], None] = sleep
    is_stopped: Callable[[], bool] = lambda: False  # whether somebody asked this process to stop


@dataclass(frozen=True, slots=True)
class Records:
    """Disposes of verified files, and writes down what became of them; made for one pass."""

    context: IngestContext
    state: FolderState
    disposal: Disposal
    not_moved: dict[str, Row]  # the rows of files that should have been moved, by their places
    without_audio: list[Row] = field(default_factory=list)  # deliveries that were moved: folder, moved_to
    half: dict[str, Move] = field(default_factory=dict)  # that could neither be finished nor undone, for the next pass

    @property
    def half_moved(self) -> set[str]:
        """The folders of deliveries that are here and there, until a move comes to its end."""
        return {move.folder for move in self.half.values() if move.folder is not None}

    def of_leg(self, plan: Plan, leg: int, sightings: Mapping[str, Sighting]) -> tuple[list[Row], bool]:
        """Dispose of the files that a leg has verified; give its rows, and whether that was not done before."""
        name = layout.ingest_name(plan.run_id, plan.run_date, leg)
        is_new = self.context.results.store.read(name) is None
        if is_new:
            batches = _batches(self._verified_by(plan, leg))
            rows = [row for batch in batches for row in self._disposed(batch, sightings, part=None)]
            with suppress(NameTaken):
                self.context.results.create_part(name, "ingest", rows)
            self._end_moves()
        return self.context.results.table("ingest", [name]).to_pylist(), is_new

    def of_answered(self, answered: Iterable[_Answered]) -> list[Row]:
        """Dispose of files that were answered before and still lie there; give the rows of those that leave."""
        written: list[Row] = []
        for batch in _batches(answered):
            part = self._new_part()
            written += self._written(part, self._disposed(batch, {}, part))
            self._end_moves()
        return written

    def of_batch(self, chosen: Move | DisposalResult, answered: Sequence[_Answered]) -> list[Row]:
        """Move a delivery as a whole, all of whose files are answered; give the rows of those that leave."""
        part = self._new_part()
        if isinstance(chosen, Move):
            self._keep_moves(part, [*self.half.values(), chosen])
            written = self._written(part, self._rows_of(chosen))  # before the move is forgotten
            self._end_moves()
            return written
        return self._written(part, [self._row(*each, chosen, None) for each in answered])

    def of_held(self, answers_of: Callable[[Collection[str]], Mapping[str, PastAnswer]]) -> list[Row]:
        """Move deliveries on that lie in quarantine and are whole by now; give the rows of their accepted files."""
        if Disposition.ACCEPTED not in self.disposal.targets or not self.state.asks_held:
            return []
        newest = answers_of({item.item_id for move in self.state.held for item, _ in move.items})
        rows: list[Row] = []
        whole = [move for move in self.state.held if move.is_whole(newest)]
        for held in whole:
            if held.target_folder in self.half_moved:
                continue  # the next pass goes on with it
            chosen = self.disposal.chosen_from_quarantine(held, newest)
            if chosen is None:
                self.state.hold([move for move in self.state.held if move.name != held.name])
            else:
                rows += self.of_batch(chosen, held.items)
        names = {move.name for move in whole}
        self.state.asks_held = any(move.name in names for move in self.state.held)
        self.state.save()
        return rows

    def of_killed_pass(self) -> list[Row]:
        """Finish or undo the moves that a killed pass had begun; write the rows that nobody else writes."""
        part, begun = self.state.part, self.state.moves
        rows = [row for move in begun for row in self._rows_of(move)]
        written = [] if part is None else self._written(part, rows)
        if begun:
            self._end_moves()
        return written

    def _written(self, part: str, rows: Sequence[Row]) -> list[Row]:
        """Write the rows of what leaves; a pass every minute must not repeat what stays."""
        new = [row for row in rows if row["disposition"] != Disposition.LEFT]
        if new:
            with suppress(NameTaken):
                self.context.results.create_part(part, "ingest", new)
        return new

    def _new_part(self) -> str:
        now = self.context.clock()
        return layout.ingest_name(new_run_id(now, secrets.token_hex(3)), now.date(), 0)

    def _verified_by(self, plan: Plan, leg: int) -> Iterator[_Answered]:
        names = self.context.results.parts_of("verdicts", plan, leg)
        for name in names:
            rows = self.context.results.table("verdicts", [name], ["manifest_row", *ANSWER_COLUMNS]).to_pylist()
            answers = {row.pop("manifest_row"): answer_of(row) for row in rows}
            yield from ((item, answers[item.manifest_row]) for item in self.context.results.items(plan, answers))

    def _disposed(
        self, verified: Sequence[_Answered], sightings: Mapping[str, Sighting], part: str | None
    ) -> list[Row]:
        """Dispose of some files: (1) choose all names, (2) note the moves, (3) make them.

        After a kill, `part` takes the rows; without one, somebody disposes of these files again.
        """
        chosen = list(some_at_once(verified, self._chosen, AT_ONCE))  # (1)
        moves = {each.name: each for each in chosen if isinstance(each, Move)} | self.half
        self._keep_moves(part, moves.values())  # (2)
        results = [
            *some_at_once(chosen, lambda each: self._moved(each)[0] if isinstance(each, Move) else each, AT_ONCE)
        ]
        self._note_held(
            [(each, result) for each, result in zip(chosen, results, strict=True) if isinstance(each, Move)]
        )
        return [
            self._row(item, answer, result, sightings.get(utf8_text(item.audio)))
            for (item, answer), result in zip(verified, results, strict=True)  # (3)
        ]

    def _chosen(self, verified: _Answered) -> Move | DisposalResult:
        item, answer = verified
        sighting = self.state.sightings.get(utf8_text(item.audio))
        return self.disposal.chosen(item, answer, own_lists(item.audio, "" if sighting is None else sighting.judged_by))

    def _rows_of(self, move: Move) -> list[Row]:
        results = self._moved(move)
        self._note_held([(move, results[0])])
        if not move.items:
            self._tell_without_audio(move, results[0])
            return []
        return [self._row(*each, result, None) for each, result in zip(move.items, results, strict=True)]

    def _tell_without_audio(self, move: Move, result: DisposalResult) -> None:
        folder = utf8_text(move.folder or "")
        if result.disposition is Disposition.LEFT:
            self.not_moved[folder] = {"audio": folder, "detail": result.detail}
        else:
            self.without_audio.append({"folder": folder, "moved_to": result.audio and utf8_text(result.audio)})

    def _note_held(self, moved: Sequence[tuple[Move, DisposalResult]]) -> None:
        """Note which moves took accepted files into quarantine, and forget there what went on or came once more."""
        done = [move for move, result in moved if result.disposition is move.disposition]
        gone = {move.folder for move, result in moved if result.disposition is not Disposition.LEFT}
        held = [move for move in done if move.is_held]
        if not held and not self.state.held:
            return
        self.state.asks_held = True
        # What came later to the same place stands for what came before: of a delivery that is not accepted, only its
        # accepted files do.
        places = {file.source for move in done if move.disposition is Disposition.ACCEPTED for file in move.files}
        places |= {item.audio for move in held for item, answer in move.items if answer.outcome == "accepted"}
        names = {move.name for move in held}
        for before in self.state.held:
            left = None if before.name in names else before.without(places)
            if left is None or not left.is_held or left.target_folder in gone:
                continue
            # Nothing is forgotten that somebody takes out of quarantine until another delivery comes there.
            if not held or self.disposal.is_there(left):
                held.append(left)
        self.state.hold(held)

    def _moved(self, move: Move) -> list[DisposalResult]:
        results = self.disposal.moved(move)
        if any(each.is_half for each in results):
            self.half.setdefault(move.name, move)
        elif any(each.audio is not None for each in results):
            self.half.pop(move.name, None)
        return results

    def _end_moves(self) -> None:
        self._keep_moves(self._new_part(), self.half.values())

    def _keep_moves(self, part: str | None, moves: Collection[Move]) -> None:
        """Note which moves begin now, in the place of what was noted before."""
        self.state.part, self.state.moves = part, tuple(moves)
        self.state.save()

    def _row(self, item: WorkItem, answer: PastAnswer, result: DisposalResult, sighting: Sighting | None) -> Row:
        now, tags = self.context.clock(), tags_of(item.tags_json)
        version = text_of_versions(item.audio_version, item.sidecar_version)
        tries = sighting.tries + 1 if sighting is not None and sighting.version == version else 1
        is_final = stands(answer.outcome, answer.reason, is_delivered=item.is_delivered)
        folder = supplier_of(path_within(item.audio, self.disposal.watched))
        row: Row = {
            "run_id": answer.run_id,
            "leg": answer.leg,
            "environment": self.context.environment,
            "watched": utf8_text(self.disposal.watched),
            "item_id": item.item_id,
            "audio": utf8_text(item.audio),
            "sidecar": item.sidecar and utf8_text(item.sidecar),
            "audio_bytes": answer.audio_bytes,
            "audio_version": item.audio_version,
            "sidecar_version": item.sidecar_version,
            "audio_sha256": answer.audio_sha256,
            "sidecar_sha256": answer.sidecar_sha256,
            "supplier": tags.get(SUPPLIER_TAG) if item.is_delivered else folder and utf8_text(folder),
            "outcome": answer.outcome,
            "reason": answer.reason,
            "tries": tries,
            "retry_at": None if is_final else retry_at(tries, now),
            "disposition": str(result.disposition),
            "audio_moved_to": result.audio and utf8_text(result.audio),
            "sidecar_moved_to": result.sidecar and utf8_text(result.sidecar),
            "detail": result.detail,
            "first_seen_at": None if sighting is None else sighting.since,
            "verified_at": answer.finished_at,
            "acted_at": now,
            "tags": item.tags_json,
        }
        seen = self.state.sightings.get(utf8_text(item.audio))
        if result.audio is not None and seen is not None and seen.judged_by and not item.is_delivered:
            self.state.spoken[utf8_text(item.audio)] = seen.judged_by
        self.not_moved.pop(utf8_text(item.audio), None)
        if result.disposition is Disposition.LEFT and result.detail is not None:
            self.not_moved[utf8_text(item.audio)] = row
        return row


def _batches(verified: Iterable[_Answered]) -> Iterator[list[_Answered]]:
    waiting = iter(verified)
    while batch := list(islice(waiting, _BATCH)):
        yield batch


def sightings_after(rows: Iterable[Row], sightings: Mapping[str, Sighting], now: datetime) -> dict[str, Sighting]:
    """Return what is known of waiting files after these rows: a verdict ends the waiting, and a failure is counted.

    Rows of old legs, and of versions that are no longer there, change nothing.
    """
    waiting = dict(sightings)
    for row in rows:
        cells: dict[str, Any] = {**row}
        version = text_of_versions(cells["audio_version"], cells["sidecar_version"])
        known = waiting.get(cells["audio"])
        if known is not None and (known.version != version or known.tries > cells["tries"]):
            continue
        waiting.pop(cells["audio"], None)
        judged_by = "" if known is None else known.judged_by
        if cells["outcome"] in VERDICTS:
            if judged_by:  # it is judged once more if that changes
                waiting[cells["audio"]] = Sighting(version=version, since=now, judged_by=judged_by)
            continue
        is_final = stands(cells["outcome"], cells["reason"], is_delivered=IN_BATCH in tags_of(cells["tags"]))
        waiting[cells["audio"]] = Sighting(
            version=version,
            since=cells["first_seen_at"] or now,
            tries=0 if is_final else cells["tries"],
            retry_at=cells["retry_at"],
            answer=answer_of(cells | {"finished_at": cells["verified_at"]}) if is_final else None,
            judged_by=judged_by,
        )
    return waiting
