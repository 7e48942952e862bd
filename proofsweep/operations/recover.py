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
from proofsweep.domain.items import Row
from proofsweep.domain.runs import OperationKind
from proofsweep.operations.operation import CALLS_AT_ONCE, OperationLeg, OperationReport, Operator, said_counts
from proofsweep.queries.connection import opened
from proofsweep.sources.audio import read_sidecar
from proofsweep.sources.files import Files
from proofsweep.sources.preflight import SIDECAR_BYTES
from proofsweep.sources.presence import Away, away_now, folder_of
from proofsweep.sources.source import FOLDERS_KEPT
from proofsweep.store.objects import open_place
from proofsweep.store.parts import Results
from proofsweep.verify.emptied_folders import is_emptied

_ITEMS = """
SELECT proof_id, item_id, audio, sidecar, relative_path, audio_bytes, sidecar_sha256
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
    audio: str
    sidecar: str
    relative_path: str | None
    audio_bytes: int | None  # size of the audio that was sent
    sidecar_sha256: str | None  # of the sidecar that was sent, in hex


def recover_sidecars(operator: Operator, below: str = "", to: str | None = None) -> OperationReport:
    """Write the sealed sidecars of the pairs whose own are missing: beside the audio, or below the folder `to`.

    With `below`, only those of the audio that is this file, or lies in this folder.
    """
    if operator.service.settings.sidecar_field is None:
        raise ConfigError("The sidecar's wire name is not set: ask the partner for it and set service.sidecar_field.")
    here = str(Path.cwd())
    prefix = None if to is None else path_of(to, here).rstrip("/")
    items = proven_items(operator.results, operator.environment, below and path_of(below, here).rstrip("/"))
    with operator.begun(OperationKind.RECOVERY) as work:
        folders = Folders(work.service.files, partial(is_emptied, operator.results, operator.environment))
        outcomes = Counter(some_at_once(items, partial(recover, work, prefix, folders), CALLS_AT_ONCE))
    line = "\n".join([f"{outcomes.total():,} sidecars: {said_counts(outcomes, _WORDS)}", *folders.lines])
    return OperationReport(operation_id=work.operation.run_id, counts=outcomes, line=line)


def proven_items(results: Results, environment: str, below: str = "") -> Iterator[ProvenItem]:
    with opened(results, environment, asked=_ITEMS) as store:
        answer = store.execute(_ITEMS, {"below": below, "folder": f"{below}/" if below else ""})
        while rows := answer.fetchmany(_ROWS_IN_MEMORY):
            yield from map(ProvenItem._make, rows)


class Folders:
    """The folders of sidecars that cannot be looked for; each folder is looked at once. Safe to use from threads."""

    def __init__(self, files: Files, is_emptied: Callable[[str], bool]) -> None:
        """Take what says of a folder that passes empty it: there, an empty one is not away."""

        def look(folder: str) -> Away | None:
            away = away_now(folder, files)
            return None if away is None or is_emptied(away.folder) else away

        self._look = lru_cache(FOLDERS_KEPT)(look)
        self._away: Counter[str] = Counter()
        self._lock = Lock()

    def is_away(self, *locations: str) -> bool:
        return any(self._look(folder_of(location)) for location in locations)

    def count(self, location: str) -> None:
        away = self._look(folder_of(location))
        with self._lock:
            self._away[f"{one_line(folder_of(location))} cannot be read" if away is None else away.sentence] += 1

    @property
    def lines(self) -> list[str]:
        return [f"{sentence.rstrip('.')} Sidecars: {count:,}." for sentence, count in self._away.most_common()]


def recover(work: OperationLeg, prefix: str | None, folders: Folders, item: ProvenItem) -> str:
    """Recover one sidecar, and return the outcome; if a call was made, its row is in the journal."""
    location = item.sidecar if prefix is None else _below(prefix, item)
    is_there = _is_there(work, item.sidecar)
    if is_there:
        return "present"
    if is_there is None or (prefix is None and folders.is_away(item.sidecar, item.audio)):
        folders.count(item.sidecar)
        return "away"
    if not _suits_the_audio(work, item, None if prefix is None else posixpath.dirname(location)):
        return "absent"
    is_there = _is_there(work, location, item.sidecar_sha256)
    if is_there is not False:
        if is_there is None:
            folders.count(location)
        return "away" if is_there is None else "present"
    content, said = _sealed(work, item)
    if content:
        said |= _written(location, content, is_own=location == item.sidecar)
    row: Row = {
        "proof_id": item.proof_id,
        "item_id": item.item_id,
        "audio": item.audio,
        "sidecar": item.sidecar,
        "sidecar_bytes": len(content) or None,
        "sidecar_sha256": sha256(content).hexdigest() if content else None,
        **said,
        "acted_at": work.service.clock(),
    }
    work.add(row)
    return str(row["outcome"])


def _below(prefix: str, item: ProvenItem) -> str:
    audio = item.relative_path or posixpath.basename(item.audio)
    safe = [part for part in audio.split("/") if part not in {"", ".", ".."}]
    return "/".join([prefix, *safe[:-1], posixpath.basename(item.sidecar)])


def _is_there(work: OperationLeg, location: str, sha256_hex: str | None = None) -> bool | None:
    """Whether a file is there; with a digest, whether it has these bytes. None if that is not known."""
    files = work.service.files
    try:
        facts = files.facts(location)
        if facts is None or sha256_hex is None:
            return facts is not None
        return sha256(read_sidecar(location, SIDECAR_BYTES, files)).hexdigest() == sha256_hex
    except SourceError:
        return None


def _suits_the_audio(work: OperationLeg, item: ProvenItem, folder: str | None) -> bool:
    """Whether the audio lies beside the sidecar's place with its size, or in a folder of its own, none of its name.

    Else the sidecar would be taken for that of another file.
    """
    audio = item.audio if folder is None else f"{folder}/{posixpath.basename(item.audio)}"
    with suppress(SourceError):
        facts = work.service.files.facts(audio)
        return folder is not None if facts is None else item.audio_bytes in {None, facts.size_bytes}
    return False


def _sealed(work: OperationLeg, item: ProvenItem) -> tuple[bytes, Row]:
    """Return the bytes (contract, GetProofResponse: base64), empty if none, and what the row says of the answer."""
    proof, request_id = work.ask(Call.PROOF, lambda partner: partner.proof(item.proof_id))
    said: Row = {"request_id": request_id}
    if isinstance(proof, CallFailed):
        outcome = "gone" if proof.status == HTTPStatus.NOT_FOUND else "failed"
        return b"", said | {"outcome": outcome, "detail": proof.message}
    with suppress(ValueError):
        if content := base64.b64decode(proof.sidecar.get_secret_value() if proof.sidecar else "", validate=True):
            return content, said
    return b"", said | {"outcome": "failed", "detail": "The answer has no base64 under service.sidecar_field."}


def _written(location: str, content: bytes, *, is_own: bool) -> Row:
    folder, name = posixpath.split(location)
    try:
        open_place(folder, "place of the sidecar").create(name, content)
    except NameTaken:
        outcome = "present" if is_own else "failed"  # below a prefix it may be the sidecar of any other audio
        return {"outcome": outcome, "detail": f"Another file is at {location}; it was left as it is."}
    except ResultsError:
        return {"outcome": "failed", "detail": f"Nothing can be written at {location}: check rights and space."}
    return {"outcome": "recovered", "recovered_to": location}
