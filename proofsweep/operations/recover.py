"""Get lost sidecars back: the sealed bytes of GET /proofs/{proofId}, written where no file is."""

import base64
import posixpath
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

from proofsweep.config.locations import one_line, path_of
from proofsweep.config.threads import Lock, some_at_once
from proofsweep.domain.errors import CallFailed, ConfigError, NameTaken, ResultsError, SourceError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Row, utf8_text
from proofsweep.domain.runs import OperationKind
from proofsweep.files.audio import read_sidecar
from proofsweep.files.files import Files
from proofsweep.files.folder_listing import FOLDERS_KEPT
from proofsweep.files.presence import Away, away_now, folder_of
from proofsweep.operations.operation import CALLS_AT_ONCE, OperationLeg, OperationReport, Operator, said_counts
from proofsweep.queries.connection import opened
from proofsweep.sources.preflight import SIDECAR_BYTES
from proofsweep.store.objects import open_place
from proofsweep.store.parts import Results
from proofsweep.store.places import with_locations
from proofsweep.verify.emptied_folders import is_emptied

_ITEMS = """
SELECT proof_id, item_id, audio, sidecar, relative_path, audio_bytes, sidecar_sha256, run_id, manifest_row
FROM latest_answer
WHERE proof_id NOT IN ('', '.', '..') AND sidecar IS NOT NULL AND NOT starts_with(audio, 'proof:')
    AND ($below = audio OR starts_with(audio, $folder))
ORDER BY audio
"""
_ROWS_IN_MEMORY = 5_000
_WORDS = {
    "recovered": "recovered",
    "present": "there already",
    "gone": "have no proof any more",
    "failed": "could not be had",
    "away": "in a folder that is away",
    "absent": "skipped, since their audio is not there (--to writes elsewhere)",
}


class ProvenItem(NamedTuple):
    """A pair with a proof, by its newest answer."""

    proof_id: str
    item_id: str
    audio: str  # location, as of the sidecar
    sidecar: str
    relative_path: str | None
    audio_bytes: int | None  # size of the audio that was sent
    sidecar_sha256: str | None  # of the sidecar that was sent, in hex


def recover_sidecars(operator: Operator, below: str = "", to: str | None = None) -> OperationReport:
    """Write the sealed sidecars of the pairs whose own are missing: beside the audio, or below the folder `to`.

    With `below`, only those of the audio that is this file, or lies in this folder.
    """
    # Contract, Naming note: the wire name holds the service's brand, so it is a setting.
    if operator.service.settings.sidecar_field is None:
        raise ConfigError("The sidecar's wire name is not set: ask the partner for it and set service.sidecar_field.")
    here = str(Path.cwd())
    prefix = None if to is None else path_of(to, here).rstrip("/")
    if below:
        below = path_of(below, here).rstrip("/")
    items = proven_items(operator.results, operator.environment, below)
    with operator.begun(OperationKind.RECOVERY) as work:
        # An empty folder may be a share that is not mounted, unless passes over a watched folder empty it.
        folders = Folders(work.service.files, partial(is_emptied, operator.results, operator.environment))
        answers = some_at_once(items, partial(recover, work, prefix, folders), CALLS_AT_ONCE)
        outcomes = Counter(answers)
    counts = f"{outcomes.total():,} sidecars: {said_counts(outcomes, _WORDS)}"
    line = "\n".join([counts, *folders.lines])
    return OperationReport(operation_id=work.operation.run_id, counts=outcomes, line=line)


def proven_items(results: Results, environment: str, below: str = "") -> Iterator[ProvenItem]:
    folder = f"{below}/" if below else ""
    with opened(results, environment, asked=_ITEMS) as store:
        answer = store.execute(_ITEMS, {"below": utf8_text(below), "folder": utf8_text(folder)})
        names = [name for name, *_ in answer.description]
        while rows := answer.fetchmany(_ROWS_IN_MEMORY):
            cells = (dict(zip(names, row, strict=True)) for row in rows)
            for row in with_locations(results, cells):
                yield ProvenItem(**{name: row[name] for name in ProvenItem._fields})


class Folders:
    """The folders in which no sidecar can be looked for; each is looked at once. Safe to use from several threads."""

    def __init__(self, files: Files, is_emptied: Callable[[str], bool]) -> None:
        """`is_emptied` says whether passes empty a folder: then an empty one is not away."""

        def look(folder: str) -> Away | None:
            away = away_now(folder, files)
            if away is None or is_emptied(away.folder):
                return None
            return away

        self._look = lru_cache(FOLDERS_KEPT)(look)
        self._away: Counter[str] = Counter()
        self._lock = Lock()

    def is_away(self, *locations: str) -> bool:
        return any(self._look(folder_of(location)) for location in locations)

    def count(self, location: str) -> None:
        folder = folder_of(location)
        away = self._look(folder)
        sentence = f"{one_line(folder)} cannot be read" if away is None else away.sentence
        with self._lock:
            self._away[sentence] += 1

    @property
    def lines(self) -> list[str]:
        lines: list[str] = []
        for sentence, count in self._away.most_common():
            end = f"Sidecars: {count:,}."
            lines.append(f"{sentence.rstrip('.')} {end}")
        return lines


def recover(work: OperationLeg, prefix: str | None, folders: Folders, item: ProvenItem) -> str:
    """Recover one sidecar, and return the outcome; if a call was made, its row is in the journal."""
    location = item.sidecar if prefix is None else _below(prefix, item)
    folder = None if prefix is None else posixpath.dirname(location)
    outcome = _outcome_without_call(work, location, folder, folders, item)
    if outcome is not None:
        return outcome
    row: Row = {"proof_id": item.proof_id, "item_id": item.item_id}
    row["audio"] = utf8_text(item.audio)
    row["sidecar"] = utf8_text(item.sidecar)
    content, answered = _sealed(work, item)
    row |= answered
    if content:
        row["sidecar_bytes"] = len(content)
        row["sidecar_sha256"] = sha256(content).hexdigest()
        row |= _written(location, content, is_own=location == item.sidecar)
    row["acted_at"] = work.service.clock()
    work.add(row)
    return str(row["outcome"])


def _outcome_without_call(
    work: OperationLeg, location: str, folder: str | None, folders: Folders, item: ProvenItem
) -> str | None:
    """Return why nothing is asked for; None if the call is worth it. `folder` is another than the audio's own."""
    is_there = _is_there(work, item.sidecar)
    if is_there:
        return "present"
    # In a folder that is away no sidecar is known to be missing.
    if is_there is None or (folder is None and folders.is_away(item.sidecar, item.audio)):
        folders.count(item.sidecar)
        return "away"
    # A sidecar beside other audio would be taken for that of another file.
    if not _suits_the_audio(work, item, folder):
        return "absent"
    is_there = _is_there(work, location, item.sidecar_sha256)
    if is_there is None:
        folders.count(location)
        return "away"
    return "present" if is_there else None


def _below(prefix: str, item: ProvenItem) -> str:
    audio = item.relative_path or posixpath.basename(item.audio)
    # No part of a path leads out of the folder, wherever the catalog says that its audio is.
    parts = [part for part in audio.split("/") if part not in {"", ".", ".."}]
    return "/".join([prefix, *parts[:-1], posixpath.basename(item.sidecar)])


def _is_there(work: OperationLeg, location: str, sha256_hex: str | None = None) -> bool | None:
    """Whether a file is there; with a digest, whether it has these bytes. None if that is not known."""
    files = work.service.files
    try:
        facts = files.facts(location)
        if facts is None or sha256_hex is None:
            return facts is not None
        content = read_sidecar(location, SIDECAR_BYTES, files)
    except SourceError:
        return None
    return sha256(content).hexdigest() == sha256_hex


def _suits_the_audio(work: OperationLeg, item: ProvenItem, folder: str | None) -> bool:
    """Whether the audio beside the sidecar's place has the size that was sent; in another folder there may be none."""
    audio = item.audio
    if folder is not None:
        audio = f"{folder}/{posixpath.basename(item.audio)}"
    with suppress(SourceError):
        facts = work.service.files.facts(audio)
        if facts is None:
            return folder is not None
        return item.audio_bytes in {None, facts.size_bytes}
    return False


def _sealed(work: OperationLeg, item: ProvenItem) -> tuple[bytes, Row]:
    """Return the bytes, empty if none, and what the row says of the answer."""
    proof, request_id = work.ask(Call.PROOF, lambda partner: partner.proof(item.proof_id))
    row: Row = {"request_id": request_id, "outcome": "failed"}
    if isinstance(proof, CallFailed):
        row["detail"] = proof.message
        if proof.status == HTTPStatus.NOT_FOUND:
            row["outcome"] = "gone"
        return b"", row
    content = b""
    # Contract, GetProofResponse: the sealed bytes are base64.
    if proof.sidecar is not None:
        with suppress(ValueError):
            content = base64.b64decode(proof.sidecar.get_secret_value(), validate=True)
    if not content:
        row["detail"] = "The answer has no base64 under service.sidecar_field."
    return content, row


def _written(location: str, content: bytes, *, is_own: bool) -> Row:
    folder, name = posixpath.split(location)
    place = utf8_text(location)
    try:
        open_place(folder, "place of the sidecar").create(name, content)
    except NameTaken:
        # Below a prefix it may be the sidecar of any other audio.
        outcome = "present" if is_own else "failed"
        return {"outcome": outcome, "detail": f"Another file is at {place}; it was left as it is."}
    except ResultsError:
        return {"outcome": "failed", "detail": f"Nothing can be written at {place}: check rights and space."}
    return {"outcome": "recovered", "recovered_to": place}
