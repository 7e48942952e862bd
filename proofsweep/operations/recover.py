"""Get lost sidecars back: the sealed bytes of GET /proofs/{proofId}, written where no file is."""

import base64
import binascii
import json
import os
import posixpath
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from http import HTTPStatus
from itertools import count, islice
from pathlib import Path

from proofsweep.config.locations import is_bucket, one_line, path_of
from proofsweep.config.threads import some_at_once
from proofsweep.domain.errors import CallFailed, ConfigError, NameTaken, ResultsError, SourceError, UsageError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Row
from proofsweep.domain.operations import Operation, OperationKind
from proofsweep.operations.operation import CALLS_AT_ONCE, OperationLeg, Operator
from proofsweep.queries.connection import opened
from proofsweep.sources.audio import read_sidecar
from proofsweep.sources.files import Files
from proofsweep.sources.moves import Moves
from proofsweep.sources.preflight import SIDECAR_BYTES
from proofsweep.store import layout
from proofsweep.store.journal import Journal, unpublished
from proofsweep.store.objects import json_bytes, open_store
from proofsweep.store.parts import Results
from proofsweep.store.rows import with_instants

_ITEMS = """
WITH moves AS (  -- the last one of a file; of those that went to one name, only the last one is still there
    SELECT *
    FROM ingest
    QUALIFY row_number() OVER (PARTITION BY item_id, run_id ORDER BY acted_at DESC) = 1
        AND (audio_moved_to IS NULL OR row_number() OVER (PARTITION BY audio_moved_to ORDER BY acted_at DESC) = 1)
), located AS (
    SELECT
        answers.proof_id, answers.item_id, answers.audio, answers.sidecar, answers.sidecar_sha256,
        answers.relative_path, answers.accepted, answers.audio_bytes,
        coalesce(moves.audio_moved_to, moves.audio, answers.audio) AS current_audio,
        coalesce(moves.sidecar_moved_to, moves.sidecar, answers.sidecar) AS current_sidecar
    FROM latest_answer AS answers
    LEFT JOIN moves  -- by the bytes: a file that was renamed before it was moved has another item
        ON moves.run_id = answers.run_id AND moves.audio_sha256 = answers.audio_sha256
        AND moves.sidecar_sha256 IS NOT DISTINCT FROM answers.sidecar_sha256
    WHERE answers.proof_id NOT IN ('', '.', '..') AND (answers.sidecar IS NOT NULL OR $with_one_files)
        AND NOT starts_with(answers.audio, 'proof:')
    QUALIFY row_number() OVER (
        PARTITION BY current_audio, current_sidecar ORDER BY coalesce(moves.item_id <> answers.item_id, false)) = 1
)
FROM located
WHERE $below IN (audio, current_audio) OR starts_with(audio, $folder) OR starts_with(current_audio, $folder)
ORDER BY audio
"""
_ROWS_IN_MEMORY = 5_000
_BATCH = 64  # items whose sealed sidecars are in memory at once, and whose rows are written together
_WORDS = {
    "recovered": "recovered",
    "differs": "differ from the sealed one, which was put beside",
    "same": "are the sealed ones",
    "intact": "as they were accepted",
    "exists": "not written, since another file has the name",
    "gone": "have no proof any more",
    "failed": "could not be had",
    "absent": "skipped, since their audio is gone",
    "watched": "skipped, since ingest watches their folder (--to writes elsewhere)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryRequest:
    below: str = ""  # only items whose audio is or was this file, or in this folder; ingest may have moved it
    prefix: str | None = None  # a folder or a bucket's prefix to write below; None for beside the audio
    compares_all: bool = False  # ask also for sidecars that are as they were when the service accepted them
    with_one_files: bool = False  # also for items that were verified without a sidecar; they need a prefix
    max_calls: int | None = None  # keyed calls at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    operation_id: str
    outcomes: Mapping[str, int]  # items; `intact`, `absent` and `watched` ones cost no call, and have no row

    def line(self) -> str:
        counts = [
            f"{self.outcomes[outcome]:,} {said}" for outcome, said in _WORDS.items() if self.outcomes.get(outcome)
        ]
        return f"{sum(self.outcomes.values()):,} sidecars: {', '.join(counts) or 'none'}"


def recover_sidecars(operator: Operator, wanted: RecoveryRequest) -> Recovered:
    """Write the missing sidecars of items with a proof; UsageError for a target that would make deliveries or pairs."""
    if operator.service.settings.sidecar_field is None:
        raise ConfigError("The sidecar's wire name is not set: ask the partner for it and set service.sidecar_field.")
    is_watched_here = _watched_locations(operator.results, operator.environment)
    wanted = replace(wanted, below=_below(wanted), prefix=_target_of(wanted, is_watched_here))
    outcomes: Counter[str] = Counter()
    heal = partial(journal_written_files, operator.results, operator.service.files)
    with operator.begun(OperationKind.RECOVERY, max_calls=wanted.max_calls, heal=heal) as work:
        work.said["outcomes"] = outcomes
        SidecarRecovery(work=work, is_watched=is_watched_here, wanted=wanted, outcomes=outcomes).run(
            proven_items(operator.results, operator.environment, wanted)
        )
    return Recovered(operation_id=work.operation.operation_id, outcomes=outcomes)


def _below(wanted: RecoveryRequest) -> str:
    if not wanted.below:
        return ""
    location = path_of(wanted.below, str(Path.cwd()))
    return f"{location}/" if wanted.below.endswith("/") and not location.endswith("/") else location


def _watched_locations(results: Results, environment: str) -> Callable[[str], bool]:
    """Return what says whether ingest watches the folder of a location, in any environment of the store."""
    environments = {environment}
    if ids := frozenset(results.store.within(layout.INGEST_FOLDER).folders("_runs")):
        with opened(results, "all", asked="verdicts") as store:
            environments.update(store.environments)
    return partial(is_watched, ids=ids, environments=environments)


def is_watched(location: str, ids: Collection[str], environments: Collection[str]) -> bool:
    """Whether a location is or lies in a watched folder, by its name or by where links lead; `ids` name the folders."""
    locations = {location, location if is_bucket(location) else os.path.realpath(location)}
    above = {
        "/".join(parts[: depth + 1]) for parts in (each.split("/") for each in locations) for depth in range(len(parts))
    }
    return any(layout.watch_id(environment, folder) in ids for environment in environments for folder in above)


def _target_of(wanted: RecoveryRequest, is_watched_here: Callable[[str], bool]) -> str | None:
    if wanted.with_one_files and wanted.prefix is None:
        raise UsageError("A sidecar beside a one-file WAV would make it a pair; give a place of its own with --to.")
    target = None if wanted.prefix is None else path_of(wanted.prefix, str(Path.cwd()))
    if target is not None and is_watched_here(target.rstrip("/")):
        raise UsageError(
            f"{one_line(target)} lies in a folder that ingest watches: its files are taken for deliveries."
        )
    return target


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenItem:
    """An item with a proof, by its newest answer; `current_*` is where its files are now, if `ingest` moved them."""

    proof_id: str
    item_id: str
    audio: str
    sidecar: str | None  # where its sidecar was when it was verified; None for a one-file item
    sidecar_sha256: str | None  # of the sidecar that was sent
    relative_path: str | None
    accepted: bool
    audio_bytes: int | None  # size of the audio that was sent
    current_audio: str
    current_sidecar: str | None


def proven_items(results: Results, environment: str, wanted: RecoveryRequest) -> Iterator[ProvenItem]:
    """Yield the items with a proof by location: in all folders, or below one then or now; ResultsError if no run."""
    with opened(results, environment, asked=_ITEMS) as store:
        folder = f"{wanted.below.removesuffix('/')}/" if wanted.below else ""
        values = {"below": wanted.below, "folder": folder, "with_one_files": wanted.with_one_files}
        answer = store.connection.execute(_ITEMS, values)
        columns = [name for name, *_ in answer.description or ()]
        while rows := answer.fetchmany(_ROWS_IN_MEMORY):
            for row in rows:
                yield ProvenItem(**dict(zip(columns, row, strict=True)))


_Asked = tuple[Row, bytes]  # the row of an item, which names the file to write, and what is to be written there, if any


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarRecovery:
    """Compares local sidecars with the sealed ones, and writes those that are missing. It never overwrites a file."""

    work: OperationLeg
    is_watched: Callable[[str], bool]  # whether others deliver to the folder of a location; nothing is written there
    wanted: RecoveryRequest
    outcomes: Counter[str] = field(default_factory=Counter)

    def run(self, items: Iterable[ProvenItem]) -> None:
        """Recover what is missing; RunMustStop if calls, quota or service end. Each that was asked for has its row."""
        waiting = iter(items)
        for number in count():
            if not (batch := list(islice(waiting, _BATCH))):
                return
            asked: list[_Asked] = []
            try:
                self.outcomes.update(filter(None, some_at_once(batch, partial(self._ask, asked), CALLS_AT_ONCE)))
            finally:
                self._end(number, asked)

    def _ask(self, asked: list[_Asked], item: ProvenItem) -> str | None:
        local = self._local(item)
        local_sha256 = None if local is None else sha256(local).hexdigest()
        is_as_accepted = item.accepted and local_sha256 is not None and local_sha256 == item.sidecar_sha256
        if is_as_accepted and not self.wanted.compares_all:
            return "intact"
        if (skipped := self._skipped(item)) is not None:
            return skipped
        content, said = self._sealed(item)
        row: Row = {
            **{name: getattr(item, name) for name in ("proof_id", "item_id", "audio", "sidecar")},
            "recovered_to": None,
            "sidecar_bytes": len(content) or None,
            "sidecar_sha256": sha256(content).hexdigest() if content else None,
            "local_sha256": local_sha256,
            **said,
            "acted_at": self.work.service.clock(),
        }
        is_there = self._is_there(item)  # another process may have written it since it was read
        if not content:
            asked.append((row, b""))
        elif is_there and self._local(item) == content:
            asked.append((row | {"outcome": "same"}, b""))
        else:
            asked.append((row | self._intended(item, is_there=is_there), content))
        return None

    def _end(self, number: int, asked: Sequence[_Asked]) -> None:
        """(1) Note the rows of files to be written, (2) write these files, (3) put all rows into the journal."""
        writes = [each for each in asked if each[1]]
        rows = [row for row, content in asked if not content]
        if writes:
            name = _writes_name(self.work.operation, self.work.leg, f"{number:06}.json")
            self.work.results.store.create(name, json_bytes([row for row, _ in writes]))  # (1)
            rows += some_at_once(writes, self._written, CALLS_AT_ONCE)  # (2)
        self.work.add(rows)
        self.work.flush()  # (3)
        self.outcomes.update(str(row["outcome"]) for row in rows)

    def _local(self, item: ProvenItem) -> bytes | None:
        with suppress(SourceError):
            if item.current_sidecar is not None:
                return read_sidecar(item.current_sidecar, SIDECAR_BYTES, self.work.service.files)
        return None

    def _skipped(self, item: ProvenItem) -> str | None:
        """Return why nothing may be written beside an audio: its sidecar would be taken for that of another file."""
        if self.wanted.prefix is not None:
            return None
        with suppress(SourceError):
            facts = self.work.service.files.facts(item.current_audio)
            if facts is None or item.audio_bytes not in {None, facts.size_bytes}:
                return "absent"
        return "watched" if self.is_watched(item.current_sidecar or item.current_audio) else None

    def _sealed(self, item: ProvenItem) -> tuple[bytes, Row]:
        """Return the bytes (contract, GetProofResponse: base64), empty if none, and what the row says of the answer."""
        content, detail = b"", None
        proof, exchange = self.work.ask(Call.PROOF, lambda partner: partner.proof(item.proof_id))
        if isinstance(proof, CallFailed):
            outcome = "gone" if proof.status == HTTPStatus.NOT_FOUND else "failed"
            return b"", {"outcome": outcome, "detail": proof.message, "request_id": proof.request_id}
        request_id = None if exchange is None else exchange.request_id
        if proof.sidecar is None:
            detail = "The answer has no sidecar under the name of service.sidecar_field."
        else:
            with suppress(binascii.Error, ValueError):
                content = base64.b64decode(proof.sidecar.get_secret_value(), validate=True)
            if not content:
                detail = "The sealed sidecar is no base64 of any bytes."
        return content, {"outcome": "" if content else "failed", "detail": detail, "request_id": request_id}

    def _intended(self, item: ProvenItem, *, is_there: bool) -> Row:
        differs = "The local sidecar is not the sealed one, and was left as it is."
        return {
            "outcome": "differs" if is_there else "recovered",
            "recovered_to": self._target(item, is_there=is_there),
            "detail": differs if is_there else None,
        }

    def _written(self, write: _Asked) -> Row:
        row, content = write
        location = str(row["recovered_to"])
        folder, name = posixpath.split(location)
        try:
            store = open_store(folder)
            if store.read(name) is None:
                store.create(name, content)
                return row
        except NameTaken:  # since then
            pass
        except ResultsError:
            cannot = f"Nothing can be written at {location}: check rights and space."
            return row | {"outcome": "failed", "recovered_to": None, "detail": cannot}
        return row | {"recovered_to": None} | self._found(row, location)

    def _found(self, row: Row, location: str) -> Row:
        try:
            is_sealed = Moves(self.work.service.files).digest(location) == row["sidecar_sha256"]
        except SourceError:
            is_sealed = False
        if not is_sealed:
            return {"outcome": "exists", "detail": f"A file is at {location} already; it was left as it is."}
        outcome = "same" if row["outcome"] == "recovered" else "differs"
        return {"outcome": outcome, "detail": f"The sealed sidecar is at {location} already."}

    def _is_there(self, item: ProvenItem) -> bool:
        try:
            return item.current_sidecar is not None and self.work.service.files.facts(item.current_sidecar) is not None
        except SourceError:
            return True

    def _target(self, item: ProvenItem, *, is_there: bool) -> str:
        if self.wanted.prefix is None:
            return f"{item.current_sidecar}.recovered" if is_there else str(item.current_sidecar)
        audio = item.relative_path or posixpath.basename(item.audio)
        safe = [part for part in audio.split("/") if part not in {"", ".", ".."}]
        name = posixpath.basename(item.sidecar) if item.sidecar else f"{safe[-1]}.sidecar"
        return "/".join([self.wanted.prefix.rstrip("/"), *safe[:-1], name])


def journal_written_files(results: Results, files: Files, operation: Operation, leg: int) -> None:
    """Journal the rows of files that a killed leg has written, and did not come to journal.

    SourceError if the files cannot be read now.
    """
    store, moves = results.store, Moves(files)
    start = _writes_name(operation, leg)
    names = [name for name in store.names(layout.journal_folder(operation.operation_id, leg)) if name.startswith(start)]
    noted = [with_instants("recoveries", row) for name in names for row in json.loads(store.read(name) or b"[]")]
    tables = [*unpublished(results, operation, leg, "recoveries", ["recovered_to"])]
    tables.append(results.table("recoveries", results.parts_of("recoveries", operation), ["recovered_to"]))
    known = {location for table in tables for location in table["recovered_to"].to_pylist()}
    own: Row = {"operation_id": operation.operation_id, "environment": operation.environment}
    journal = Journal(results, operation.operation_id, leg, "healed", "recoveries")
    for row in noted:
        if row["recovered_to"] not in known and moves.digest(str(row["recovered_to"])) == row["sidecar_sha256"]:
            journal.add(own | row, [])
    with suppress(NameTaken):  # another process heals it too
        journal.flush()


def _writes_name(operation: Operation, leg: int, end: str = "") -> str:
    """Name what is about to be written: kept in the journal of a leg, and deleted with it."""
    return f"{layout.journal_folder(operation.operation_id, leg)}/writes-{end}"
