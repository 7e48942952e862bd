"""Get lost sidecars back: the sealed bytes of GET /proofs/{proofId}, written where no file is."""

import base64
import binascii
import os
import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path

from proofsweep.config.locations import is_bucket, is_within, one_line, path_of
from proofsweep.config.threads import some_at_once
from proofsweep.domain.errors import CallFailed, ConfigError, NameTaken, ResultsError, SourceError, UsageError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Row
from proofsweep.domain.operations import OperationKind
from proofsweep.operations.operation import CALLS_AT_ONCE, OperationLeg, Operator
from proofsweep.queries.connection import opened
from proofsweep.sources.audio import read_sidecar
from proofsweep.sources.preflight import SIDECAR_BYTES
from proofsweep.store import layout
from proofsweep.store.lease import Lease
from proofsweep.store.objects import open_store
from proofsweep.store.parts import Results

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
    WHERE answers.proof_id NOT IN ('', '.', '..') AND answers.sidecar IS NOT NULL
        AND NOT starts_with(answers.audio, 'proof:')
    QUALIFY row_number() OVER (
        PARTITION BY current_audio, current_sidecar ORDER BY coalesce(moves.item_id <> answers.item_id, false)) = 1
)
FROM located
WHERE $below IN (audio, current_audio) OR starts_with(audio, $folder) OR starts_with(current_audio, $folder)
ORDER BY audio
"""
_ROWS_IN_MEMORY = 5_000
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
class Recovered:
    operation_id: str
    outcomes: Mapping[str, int]  # items; `intact`, `absent` and `watched` ones cost no call, and have no row

    def line(self) -> str:
        counts = [
            f"{self.outcomes[outcome]:,} {said}" for outcome, said in _WORDS.items() if self.outcomes.get(outcome)
        ]
        return f"{sum(self.outcomes.values()):,} sidecars: {', '.join(counts) or 'none'}"


def recover_sidecars(
    operator: Operator,
    below: str = "",
    to: str | None = None,
    max_calls: int | None = None,
) -> Recovered:
    """Write the missing sidecars of pairs with a proof; UsageError for a target that would make deliveries.

    Args:
        operator: makes the calls.
        below: only items whose audio is or was this file, or in this folder; ingest may have moved it.
        to: a folder or a bucket's prefix to write below; None for beside the audio.
        max_calls: keyed calls at most.
    """
    if operator.service.settings.sidecar_field is None:
        raise ConfigError("The sidecar's wire name is not set: ask the partner for it and set service.sidecar_field.")
    watched, prefix = watched_folders(operator.results), None if to is None else path_of(to, str(Path.cwd()))
    if prefix is not None and lies_in(prefix.rstrip("/"), watched):
        raise UsageError(
            f"{one_line(prefix)} lies in a folder that ingest watches: its files are taken for deliveries."
        )
    items = proven_items(operator.results, operator.environment, below and path_of(below, str(Path.cwd())).rstrip("/"))
    outcomes: Counter[str] = Counter()
    with operator.begun(OperationKind.RECOVERY, max_calls=max_calls) as work:
        work.said["outcomes"] = outcomes
        recovery = SidecarRecovery(work=work, watched=watched, prefix=prefix)
        outcomes.update(some_at_once(items, recovery.recover, CALLS_AT_ONCE))
    return Recovered(operation_id=work.operation.operation_id, outcomes=outcomes)


def watched_folders(results: Results) -> list[str]:
    """List the folders that ingest has ever watched with this store, as the leases name them."""
    leases = results.store.within(layout.INGEST_FOLDER)
    holders = (lease.holder(lease.last()) for lease in (Lease(leases, name) for name in leases.folders("_runs")))
    return [str(holder.facts["folder"]) for holder in holders if holder is not None and "folder" in holder.facts]


def lies_in(location: str, folders: Iterable[str]) -> bool:
    """Whether a location is or lies in one of the folders, by its name or by where links lead."""
    return any(is_within(_real(location), _real(each)) or is_within(location, each) for each in folders)


def _real(location: str) -> str:
    return location if is_bucket(location) else os.path.realpath(location)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenItem:
    """An item with a proof, by its newest answer; `current_*` is where its files are now, if `ingest` moved them."""

    proof_id: str
    item_id: str
    audio: str
    sidecar: str  # where its sidecar was when it was verified
    sidecar_sha256: str | None  # of the sidecar that was sent
    relative_path: str | None
    accepted: bool
    audio_bytes: int | None  # size of the audio that was sent
    current_audio: str
    current_sidecar: str


def proven_items(results: Results, environment: str, below: str = "") -> Iterator[ProvenItem]:
    """Yield the pairs with a proof by location: in all folders, or below one then or now; ResultsError if no run."""
    with opened(results, environment, asked=_ITEMS) as store:
        values = {"below": below, "folder": f"{below}/" if below else ""}
        answer = store.connection.execute(_ITEMS, values)
        columns = [name for name, *_ in answer.description or ()]
        while rows := answer.fetchmany(_ROWS_IN_MEMORY):
            for row in rows:
                yield ProvenItem(**dict(zip(columns, row, strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarRecovery:
    """Compares local sidecars with the sealed ones, and writes those that are missing. It never overwrites a file."""

    work: OperationLeg
    watched: Sequence[str]  # folders to which others deliver; nothing is written there
    prefix: str | None = None

    def recover(self, item: ProvenItem) -> str:
        """Recover one sidecar, and return the outcome; if a call was made, its row is in the journal."""
        local = self._read(item.current_sidecar)
        local_sha256 = None if local is None else sha256(local).hexdigest()
        if item.accepted and local_sha256 is not None and local_sha256 == item.sidecar_sha256:
            return "intact"
        if (skipped := self._skipped(item)) is not None:
            return skipped
        content, said = self._sealed(item)
        if content:
            said |= self._put(item, content)
        row: Row = {
            **{name: getattr(item, name) for name in ("proof_id", "item_id", "audio", "sidecar")},
            "recovered_to": None,
            "sidecar_bytes": len(content) or None,
            "sidecar_sha256": sha256(content).hexdigest() if content else None,
            "local_sha256": local_sha256,
            **said,
            "acted_at": self.work.service.clock(),
        }
        self.work.add([row])
        return str(row["outcome"])

    def _put(self, item: ProvenItem, content: bytes) -> Row:
        """Write the sealed bytes, unless they are there; return what the row says of it."""
        is_there = self._is_there(item)  # another process may have written it since it was read
        if is_there and self._read(item.current_sidecar) == content:
            return {"outcome": "same"}
        location, outcome = self._target(item, is_there=is_there), "differs" if is_there else "recovered"
        detail = "The local sidecar is not the sealed one, and was left as it is." if is_there else None
        folder, name = posixpath.split(location)
        try:
            store = open_store(folder)
            if store.read(name) is None:
                store.create(name, content)
                return {"outcome": outcome, "recovered_to": location, "detail": detail}
        except NameTaken:  # since then
            pass
        except ResultsError:
            return {"outcome": "failed", "detail": f"Nothing can be written at {location}: check rights and space."}
        if self._read(location) != content:
            return {"outcome": "exists", "detail": f"A file is at {location} already; it was left as it is."}
        detail = f"The sealed sidecar is at {location} already."
        return {"outcome": "differs" if is_there else "same", "detail": detail}

    def _read(self, location: str) -> bytes | None:
        with suppress(SourceError):
            return read_sidecar(location, SIDECAR_BYTES, self.work.service.files)
        return None

    def _skipped(self, item: ProvenItem) -> str | None:
        """Return why nothing may be written beside an audio: its sidecar would be taken for that of another file."""
        if self.prefix is not None:
            return None
        with suppress(SourceError):
            facts = self.work.service.files.facts(item.current_audio)
            if facts is None or item.audio_bytes not in {None, facts.size_bytes}:
                return "absent"
        return "watched" if lies_in(item.current_sidecar, self.watched) else None

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

    def _is_there(self, item: ProvenItem) -> bool:
        try:
            return self.work.service.files.facts(item.current_sidecar) is not None
        except SourceError:
            return True

    def _target(self, item: ProvenItem, *, is_there: bool) -> str:
        if self.prefix is None:
            return f"{item.current_sidecar}.recovered" if is_there else item.current_sidecar
        audio = item.relative_path or posixpath.basename(item.audio)
        safe = [part for part in audio.split("/") if part not in {"", ".", ".."}]
        return "/".join([self.prefix.rstrip("/"), *safe[:-1], posixpath.basename(item.sidecar)])
