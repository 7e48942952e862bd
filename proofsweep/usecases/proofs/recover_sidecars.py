"""Get lost sidecars back: the sealed bytes of GET /proofs/{proofId}, written where no file is."""

import base64
import binascii
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from http import HTTPStatus
from itertools import islice

from proofsweep.client.partner import Partner
from proofsweep.domain.exchanges import Exchange
from proofsweep.domain.tables.columns import Row
from proofsweep.errors import CallFailed, NameTaken, ResultsError, SourceError
from proofsweep.storage.files.audio import read_sidecar
from proofsweep.storage.files.source import Source
from proofsweep.storage.results.store import open_store
from proofsweep.usecases.operations.call_budget import CallBudget
from proofsweep.usecases.operations.operation_log import OperationLog
from proofsweep.usecases.operations.outage_guard import OutageGuard
from proofsweep.usecases.operations.some_at_once import some_at_once
from proofsweep.usecases.proofs.lost_sidecars import ProvenItem

# Items whose rows are written together: what a killed process may have written into folders and in no table. Chosen:
# half makes twice the parts, twice leaves twice as many.
_WAVE = 64


@dataclass(frozen=True, slots=True)
class _Sealed:
    """A sealed sidecar, or why there is none; and the request ID of its answer."""

    content: bytes = b""
    outcome: str = ""
    detail: str | None = None
    request_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarRecovery:
    """Compares local sidecars with the sealed ones, and writes those that are missing. It never overwrites a file.

    Attributes:
        files: where local sidecars are read.
        prefix: the folder or bucket prefix to write below; None writes beside the audio.
        most_bytes: the largest sidecar that is read.
        compares_all: ask also for sidecars that are as they were when the service accepted them.
        outcomes: how many items ended how; intact ones cost no call and have no row.
    """

    partner: Partner
    log: OperationLog
    budget: CallBudget
    outage: OutageGuard
    files: Source
    clock: Callable[[], datetime]
    prefix: str | None = None
    most_bytes: int
    compares_all: bool = False
    outcomes: Counter[str] = field(default_factory=Counter)

    def run(self, items: Iterable[ProvenItem]) -> None:
        """Recover what is missing.

        Raises:
            RunMustStop: the calls, the quota or the service end before the items; each that was asked for has its row.
            ResultsError: the results store cannot be written.
        """
        waiting = iter(items)
        while wave := list(islice(waiting, _WAVE)):
            try:
                for outcome in some_at_once(wave, self._recover):
                    self.outcomes[outcome] += 1
            finally:
                self.log.flush()

    def _recover(self, item: ProvenItem) -> str:
        """Take one item to its row; give the outcome."""
        local = self._local(item)
        local_sha256 = None if local is None else sha256(local).hexdigest()
        is_as_accepted = item.accepted and local_sha256 is not None and local_sha256 == item.sidecar_sha256
        if is_as_accepted and not self.compares_all:
            return "intact"
        self.budget.take()
        try:
            sealed = self._sealed(item)
        finally:
            self.budget.give_back()
        outcome, place, detail = sealed.outcome, None, sealed.detail
        if sealed.content:
            outcome, place, detail = self._placed(item, local, sealed.content)
        row: Row = {
            "proof_id": item.proof_id,
            "item_id": item.item_id,
            "audio": item.audio,
            "sidecar": item.sidecar,
            "outcome": outcome,
            "recovered_to": place,
            "sidecar_bytes": len(sealed.content) or None,
            "sidecar_sha256": sha256(sealed.content).hexdigest() if sealed.content else None,
            "local_sha256": local_sha256,
            "detail": detail,
            "request_id": sealed.request_id,
            "acted_at": self.clock(),
        }
        self.log.add("recoveries", [row])
        return outcome

    def _local(self, item: ProvenItem) -> bytes | None:
        """Read the local sidecar; None if it is missing, or cannot be read as one."""
        try:
            return None if item.sidecar is None else read_sidecar(item.sidecar, self.most_bytes, self.files)
        except SourceError:
            return None

    def _sealed(self, item: ProvenItem) -> _Sealed:
        """Ask for the sealed sidecar (contract, GetProofResponse: base64, identical to what issuance produced)."""
        seen: list[Exchange] = []

        def note(exchange: Exchange) -> None:
            seen.append(exchange)
            self.log.note(exchange)

        try:
            proof = self.partner.in_new_session(note).proof(item.proof_id)
        except CallFailed as failed:
            self.outage.failed(failed)
            outcome = "gone" if failed.status == HTTPStatus.NOT_FOUND else "failed"
            return _Sealed(outcome=outcome, detail=failed.message, request_id=failed.request_id)
        self.outage.answered()
        request_id = seen[-1].request_id
        if proof.sidecar is None:
            no_member = "The answer has no sidecar under the name of service.sidecar_field."
            return _Sealed(outcome="failed", detail=no_member, request_id=request_id)
        try:
            content = base64.b64decode(proof.sidecar.get_secret_value(), validate=True)
        except (binascii.Error, ValueError):
            content = b""
        if not content:
            return _Sealed(
                outcome="failed", detail="The sealed sidecar is no base64 of any bytes.", request_id=request_id
            )
        return _Sealed(content=content, request_id=request_id)

    def _placed(self, item: ProvenItem, local: bytes | None, content: bytes) -> tuple[str, str | None, str | None]:
        """Write the sealed bytes where no file is; give the outcome, the place and a sentence."""
        if local == content:
            return "same", None, None
        is_there = self._is_there(item)
        place = self._place(item, is_there=is_there)
        folder, name = posixpath.split(place)
        try:
            open_store(folder).create(name, content)
        except NameTaken:
            return "exists", None, f"A file is at {place} already; it was left as it is."
        except ResultsError:
            return "failed", None, f"Nothing can be written at {place}: check rights and space."
        if not is_there:
            return "recovered", place, None
        return "differs", place, "The local sidecar is not the sealed one, and was left as it is."

    def _is_there(self, item: ProvenItem) -> bool:
        """Say whether something has the sidecar's name: it may be damaged, empty or no file."""
        try:
            return item.sidecar is not None and self.files.facts(item.sidecar) is not None
        except SourceError:
            return True

    def _place(self, item: ProvenItem, *, is_there: bool) -> str:
        """Name the place: below the prefix as the catalog names the audio; else where the sidecar was, or beside it."""
        if self.prefix is None:
            return f"{item.sidecar}.recovered" if is_there else str(item.sidecar)
        audio = item.relative_path or posixpath.basename(item.audio)
        safe = [part for part in audio.split("/") if part not in {"", ".", ".."}]
        name = posixpath.basename(item.sidecar) if item.sidecar else f"{safe[-1]}.sidecar"
        return "/".join([self.prefix.rstrip("/"), *safe[:-1], name])
