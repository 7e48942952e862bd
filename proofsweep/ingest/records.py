"""Dispose of verified files, and write down what became of them, as rows of `ingest`."""

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Any

from proofsweep.config.locations import path_within
from proofsweep.config.sections import IngestSettings
from proofsweep.config.threads import sleep, some_at_once
from proofsweep.domain.errors import NameTaken
from proofsweep.domain.items import Row, WorkItem, utf8_text
from proofsweep.domain.runs import Plan, new_run_id
from proofsweep.domain.tags import SUPPLIER_TAG, tags_of
from proofsweep.ingest.deliveries import IN_BATCH
from proofsweep.ingest.disposal import AT_ONCE, Disposal, DisposalResult
from proofsweep.ingest.folder_state import FolderState
from proofsweep.ingest.move import Move
from proofsweep.ingest.rules import (
    ANSWER_COLUMNS,
    VERDICTS,
    Disposition,
    PastAnswer,
    Sighting,
    answer_of,
    asked_again_at,
    own_lists,
    retry_at,
    stands,
    supplier_of,
    text_of_versions,
)
from proofsweep.sources.catalog import Catalog
from proofsweep.store import layout
from proofsweep.store.parts import Results
from proofsweep.verify.item import Clock

_BATCH = 500  # files whose names are chosen and noted together

_Answered = tuple[WorkItem, PastAnswer]
_RowKey = tuple[object, ...]


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
        folders: set[str] = set()
        for move in self.half.values():
            if move.folder is not None:
                folders.add(move.folder)
        return folders

    def of_leg(self, plan: Plan, leg: int, sightings: Mapping[str, Sighting]) -> tuple[list[Row], bool]:
        """Dispose of the files that a leg has verified; give its rows, and whether that was not done before."""
        results = self.context.results
        # This part has the rows of what stays. If it is there, all files of the leg are disposed of.
        last = layout.ingest_name(plan.run_id, plan.run_date, leg)
        is_new = results.store.read(last) is None
        part = layout.part_name("ingest", plan.run_id, plan.run_date, 0, leg)
        parts = [last]
        while results.store.read(part) is not None:
            parts.append(part)
            part = layout.next_part(part)
        if is_new:
            # A killed pass has written the rows of what has left.
            left = {_key_of(row) for row in self._rows_in(parts[1:])}
            staying: list[Row] = []
            for batch in _batches(self._verified_by(plan, leg, left)):
                rows = self._disposed(batch, sightings, part)
                staying += [row for row in rows if row["disposition"] == Disposition.LEFT]
                if self._written(part, rows):
                    parts.append(part)
                    part = layout.next_part(part)
                self._end_moves()
            with suppress(NameTaken):
                results.create_part(last, "ingest", staying)
        return self._rows_in(parts), is_new

    def of_answered(self, answered: Iterable[_Answered]) -> list[Row]:
        """Dispose of files that were answered before and still lie there; give the rows of those that leave."""
        written: list[Row] = []
        for batch in _batches(answered):
            part = self._new_part()
            rows = self._disposed(batch, {}, part)
            written += self._written(part, rows)
            self._end_moves()
        return written

    def of_batch(self, chosen: Move | DisposalResult, answered: Sequence[_Answered]) -> list[Row]:
        """Move a delivery as a whole, all of whose files are answered; give the rows of those that leave."""
        part = self._new_part()
        if isinstance(chosen, Move):
            self._note_moves([chosen], part)
            written = self._written(part, self._rows_of(chosen, {}))  # before the move is forgotten
            self._end_moves()
            return written
        rows = [self._row(item, answer, chosen, None) for item, answer in answered]
        return self._written(part, rows)

    def of_held(self, answers_of: Callable[[Collection[str]], Mapping[str, PastAnswer]]) -> list[Row]:
        """Move deliveries on that lie in quarantine and are whole by now; give the rows of their accepted files."""
        # The answers of all held deliveries are read from the store: a pass that has moved nothing asks for none.
        if Disposition.ACCEPTED not in self.disposal.targets or not self.state.asks_held:
            return []
        item_ids: set[str] = set()
        for move in self.state.held:
            for item, _ in move.items:
                item_ids.add(item.item_id)
        newest = answers_of(item_ids)
        rows: list[Row] = []
        whole: set[str] = set()
        for move in self.state.held:
            if move.is_whole(newest):
                whole.add(move.name)
                rows += self._moved_on(move, newest)
        # What is whole and still held could not be moved: the next pass tries it again.
        still_held = {move.name for move in self.state.held}
        self.state.asks_held = not whole.isdisjoint(still_held)
        self.state.save()
        return rows

    def _moved_on(self, held: Move, newest: Mapping[str, PastAnswer]) -> list[Row]:
        if held.target_folder in self.half_moved:
            return []  # the next pass goes on with it
        chosen = self.disposal.chosen_from_quarantine(held, newest)
        if chosen is not None:
            return self.of_batch(chosen, held.items)
        others = [move for move in self.state.held if move.name != held.name]
        self.state.hold(others)
        return []

    def of_killed_pass(self) -> list[Row]:
        """Finish or undo the moves that a killed pass had begun; write the rows that nobody else writes."""
        rows_of: dict[str, list[Row]] = {}
        for move in self.state.moves:
            rows_of.setdefault(move.part, []).extend(self._rows_of(move, self.state.sightings))
        rows_of.pop("", None)
        written: list[Row] = []
        for part, rows in rows_of.items():
            written += self._written(part, rows)
        self._end_moves()
        return written

    def _written(self, part: str, rows: Iterable[Row]) -> list[Row]:
        """Write the rows of what leaves; a pass every minute must not repeat what stays.

        If a killed pass has written the part, what it lacks goes into the next one.
        """
        leaving = [row for row in rows if row["disposition"] != Disposition.LEFT]
        missing = leaving
        while missing:
            try:
                self.context.results.create_part(part, "ingest", missing)
                break
            except NameTaken:
                known = {_key_of(row) for row in self._rows_in([part])}
                missing = [row for row in missing if _key_of(row) not in known]
                part = layout.next_part(part)
        return leaving

    def _rows_in(self, parts: Iterable[str]) -> list[Row]:
        return self.context.results.table("ingest", parts).to_pylist()

    def _new_part(self) -> str:
        now = self.context.clock()
        part_id = new_run_id(now, secrets.token_hex(3))
        return layout.part_name("ingest", part_id, now.date(), 0, 0)

    def _verified_by(self, plan: Plan, leg: int, left: Collection[_RowKey]) -> Iterator[_Answered]:
        """Yield the files that a leg has verified, but for those that have left."""
        results = self.context.results
        for name in results.parts_of("verdicts", plan, leg):
            table = results.table("verdicts", [name], ["manifest_row", *ANSWER_COLUMNS])
            answers = {row["manifest_row"]: answer_of(row) for row in table.to_pylist()}
            for item in results.items(plan, answers):
                if (item.item_id, utf8_text(item.audio), item.audio_version) not in left:
                    yield item, answers[item.manifest_row]

    def _disposed(self, verified: Sequence[_Answered], sightings: Mapping[str, Sighting], part: str) -> list[Row]:
        """Dispose of some files: (1) choose all names, (2) note the moves, (3) make them."""
        # The notes come before the first copy, so that the next pass knows the names after a kill.
        chosen = list(some_at_once(verified, self._chosen, AT_ONCE))  # (1)
        self._note_moves([choice for choice in chosen if isinstance(choice, Move)], part)  # (2)
        results = list(some_at_once(chosen, self._carried_out, AT_ONCE))  # (3)
        self._record_held(zip(chosen, results, strict=True))
        rows: list[Row] = []
        for (item, answer), result in zip(verified, results, strict=True):
            sighting = sightings.get(utf8_text(item.audio))
            rows.append(self._row(item, answer, result, sighting))
        return rows

    def _chosen(self, verified: _Answered) -> Move | DisposalResult:
        item, answer = verified
        sighting = self.state.sightings.get(utf8_text(item.audio))
        judged_by = "" if sighting is None else sighting.judged_by
        return self.disposal.chosen(item, answer, own_lists(item.audio, judged_by))

    def _carried_out(self, choice: Move | DisposalResult) -> DisposalResult:
        if isinstance(choice, DisposalResult):
            return choice
        (result,) = self._moved(choice)
        return result

    def _rows_of(self, move: Move, sightings: Mapping[str, Sighting]) -> list[Row]:
        results = self._moved(move)
        result = _result_of(move, results)
        self._record_held([(move, result)])
        if not move.items:
            self._record_without_audio(move, result)
            return []
        rows: list[Row] = []
        for (item, answer), item_result in zip(move.items, results, strict=True):
            sighting = sightings.get(utf8_text(item.audio))
            rows.append(self._row(item, answer, item_result, sighting))
        return rows

    def _record_without_audio(self, move: Move, result: DisposalResult) -> None:
        folder = utf8_text(move.folder or "")
        if result.disposition is Disposition.LEFT:
            self.not_moved[folder] = {"audio": folder, "detail": result.detail}
        else:
            self.without_audio.append({"folder": folder, "moved_to": _text_or_none(result.audio)})

    def _record_held(self, choices: Iterable[tuple[Move | DisposalResult, DisposalResult]]) -> None:
        """Record which moves took accepted files into quarantine, and forget there what went on or came once more."""
        done: list[Move] = []
        emptied: set[str | None] = set()
        for move, result in choices:
            if isinstance(move, DisposalResult):
                continue  # it stays where it is
            if result.disposition is move.disposition:
                done.append(move)
            if result.disposition is not Disposition.LEFT:
                emptied.add(move.folder)
        held = [move for move in done if move.is_held]
        if not held and not self.state.held:
            return
        self.state.asks_held = True
        replaced = _replaced_by(done)
        has_new = bool(held)
        names = {move.name for move in held}
        for move in self.state.held:
            rest = None if move.name in names else move.without(replaced)
            if rest is None or not rest.is_held or rest.target_folder in emptied:
                continue
            # Nothing is forgotten that somebody takes out of quarantine until another delivery comes there.
            if not has_new or self.disposal.is_there(rest):
                held.append(rest)
        self.state.hold(held)

    def _moved(self, move: Move) -> list[DisposalResult]:
        results = self.disposal.moved(move, self._note_copied)
        # A move that was begun stays in the notes as it was chosen first: its copies lie at those names.
        if any(result.is_half for result in results):
            first = self.half.get(move.name, move)
            for noted in self.state.moves:
                if noted.name == move.name:
                    first = replace(first, part=noted.part, is_copied=noted.is_copied)
            self.half[move.name] = first
        elif any(result.audio is not None for result in results):
            self.half.pop(move.name, None)
        return results

    def _note_moves(self, chosen: Iterable[Move], part: str) -> None:
        """Note moves that begin now, and which part takes their rows, beside those that could not be ended."""
        noted = {**self.half}
        for move in chosen:
            first = noted.get(move.name, move)
            noted[move.name] = replace(first, part=part)
        self.state.note_moves(noted.values())

    def _note_copied(self, move: Move) -> None:
        """Note that all files of a delivery were copied, before the first one is removed."""
        noted = {before.name: before for before in self.state.moves}
        part = noted[move.name].part if move.name in noted else move.part
        noted[move.name] = replace(move, part=part, is_copied=True)
        self.state.note_moves(noted.values())

    def _end_moves(self) -> None:
        # What a move has taught comes first: once the move has ended, nobody learns it again.
        if self.state.is_changed:
            self.state.save()
        self.state.note_moves(self.half.values())

    def _row(self, item: WorkItem, answer: PastAnswer, result: DisposalResult, sighting: Sighting | None) -> Row:
        now = self.context.clock()
        version = text_of_versions(item.audio_version, item.sidecar_version)
        tries = 1
        if sighting is not None and sighting.version == version:
            tries += sighting.tries
        is_final = stands(answer.outcome, answer.reason, is_delivered=item.is_delivered)
        row: Row = {
            "run_id": answer.run_id,
            "leg": answer.leg,
            "environment": self.context.environment,
            "watched": utf8_text(self.disposal.watched),
            "item_id": item.item_id,
            "audio": utf8_text(item.audio),
            "sidecar": _text_or_none(item.sidecar),
            "audio_bytes": answer.audio_bytes,
            "audio_version": item.audio_version,
            "sidecar_version": item.sidecar_version,
            "audio_sha256": answer.audio_sha256,
            "sidecar_sha256": answer.sidecar_sha256,
            "supplier": self._supplier(item),
            "outcome": answer.outcome,
            "reason": answer.reason,
            "tries": tries,
            "retry_at": None if is_final else retry_at(tries, now),
            "disposition": str(result.disposition),
            "audio_moved_to": _text_or_none(result.audio),
            "sidecar_moved_to": _text_or_none(result.sidecar),
            "detail": result.detail,
            "first_seen_at": None if sighting is None else sighting.since,
            "verified_at": answer.finished_at,
            "acted_at": now,
            "tags": item.tags_json,
        }
        place = utf8_text(item.audio)
        # A list of checksums may stay behind. It must not judge another file that comes to the same place.
        seen = self.state.sightings.get(place)
        if result.audio is not None and seen is not None and seen.judged_by and not item.is_delivered:
            self.state.spoken[place] = seen.judged_by
            self.state.is_changed = True
        # Another file has come with the version of this one, so its version alone never says that it has no answer.
        if result.disposition is Disposition.GONE:
            judged_by = "" if seen is None else seen.judged_by
            self.state.sightings[place] = Sighting(version=version, since=now, judged_by=judged_by, is_judged_anew=True)
            self.state.is_changed = True
        self.not_moved.pop(place, None)
        if result.disposition is Disposition.LEFT and result.detail is not None:
            self.not_moved[place] = row
        return row

    def _supplier(self, item: WorkItem) -> str | None:
        if item.is_delivered:
            return tags_of(item.tags_json).get(SUPPLIER_TAG)
        folder = supplier_of(path_within(item.audio, self.disposal.watched))
        return _text_or_none(folder)


def _result_of(move: Move, results: Sequence[DisposalResult]) -> DisposalResult:
    """Return what became of a delivery: it has moved if one of its items has."""
    for result in results:
        if result.disposition is move.disposition:
            return result
    return results[0]


def _key_of(row: Mapping[str, object]) -> _RowKey:
    """Return what tells the rows of one leg apart: of each delivered file it has one."""
    return row["item_id"], row["audio"], row["audio_version"]


def _text_or_none(location: str | None) -> str | None:
    return None if location is None else utf8_text(location)


def _batches(verified: Iterable[_Answered]) -> Iterator[list[_Answered]]:
    remaining = iter(verified)
    while batch := list(islice(remaining, _BATCH)):
        yield batch


def _replaced_by(moves: Iterable[Move]) -> set[str]:
    """Return where these moves took files whose earlier versions no longer count.

    Of a delivery that is not accepted, only its accepted files replace what came before.
    """
    places: set[str] = set()
    for move in moves:
        if move.disposition is Disposition.ACCEPTED:
            for file in move.files:
                places.add(file.source)
        elif move.is_held:
            for item, answer in move.items:
                if answer.outcome == "accepted":
                    places.add(item.audio)
    return places


def sightings_after(rows: Iterable[Row], sightings: Mapping[str, Sighting], now: datetime) -> dict[str, Sighting]:
    """Return what is known of waiting files after these rows: a verdict ends the waiting, and a failure is counted."""
    waiting = dict(sightings)
    for row in rows:
        cells: dict[str, Any] = {**row}
        place = cells["audio"]
        version = text_of_versions(cells["audio_version"], cells["sidecar_version"])
        before = waiting.get(place)
        # A row of an old leg, or of a version that is no longer there, changes nothing.
        if before is not None and (before.version != version or before.tries > cells["tries"]):
            continue
        waiting.pop(place, None)
        judged_by = "" if before is None else before.judged_by
        if cells["outcome"] not in VERDICTS:
            waiting[place] = _unanswered(cells, version, judged_by, now)
            continue
        asked_again = asked_again_at(cells["reason"], cells["acted_at"])
        if judged_by or asked_again is not None:  # it is judged once more if its list changes, or after a time
            waiting[place] = Sighting(version=version, since=now, judged_by=judged_by, retry_at=asked_again)
    return waiting


def _unanswered(cells: dict[str, Any], version: str, judged_by: str, now: datetime) -> Sighting:
    """Return what is known of a file without a verdict: its failures are counted, a finding is kept as its answer."""
    is_delivered = IN_BATCH in tags_of(cells["tags"])
    tries, answer = cells["tries"], None
    if stands(cells["outcome"], cells["reason"], is_delivered=is_delivered):
        tries = 0
        answer = answer_of(cells | {"finished_at": cells["verified_at"]})
    since = cells["first_seen_at"] or now
    return Sighting(
        version=version, since=since, tries=tries, retry_at=cells["retry_at"], answer=answer, judged_by=judged_by
    )
