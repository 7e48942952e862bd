"""A service in this process that erases proofs as the contract says, and the command that asks it."""

from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr

from proofsweep.client.client import Partner
from proofsweep.client.transport import Reply, Request
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Row
from proofsweep.operations.erase import erased_one_by_one, killed_erasures
from proofsweep.operations.operation import OperationLog
from proofsweep.operations.results import Erasure, ProofList
from proofsweep.store.objects import FolderStore
from proofsweep.store.operations import OperationJournals, Operations
from proofsweep.store.parts import Results

from ..ended_operations import operation_named
from ..scripted_service import NOW, Scripted, ScriptedService


class ErasingService(ScriptedService):
    """Answers `erased` for a proof that it has, else `already_erased`; what a test scripts goes before."""

    def __init__(self, *proof_ids: str) -> None:
        """Begin with some proofs."""
        super().__init__()
        self.proofs = set(proof_ids)

    def send(self, request: Request, *, attempt: int, key: SecretStr | None) -> Reply:
        """Erase one proof."""
        proof_id = request.url.rpartition("/")[2]
        if request.call is Call.ERASE and not self.script[Call.ERASE]:
            outcome = "erased" if proof_id in self.proofs else "already_erased"
            self.proofs.discard(proof_id)
            document = {"proofId": proof_id, "outcome": outcome, "erasedAt": int(NOW.timestamp())}
            self.script[Call.ERASE] = [Scripted(document=document)]
        return super().send(request, attempt=attempt, key=key)


@dataclass(slots=True)
class Eraser:
    """The command; each run is a process of its own, but for the claim."""

    folder: Path
    partner: Partner
    told: list[Erasure] = field(default_factory=list)

    @property
    def operations(self) -> Operations:
        """Those of the results store."""
        return Operations(Results(FolderStore(self.folder)))

    @property
    def journals(self) -> OperationJournals:
        """Those of the results store."""
        return OperationJournals(self.operations.results.store.within("_erasing"), "erasures")

    def erase(self, *proof_ids: str) -> list[Row]:
        """Run the command; give what it put into the table for killed ones before."""
        killed = killed_erasures(self.operations.results, self.journals, lambda: NOW)
        recovered = [row for operation_id in self.journals.open() for row in killed.end(operation_id)]
        operation = operation_named(f"20261120T12{len(self.operations.ids()):02}00Z_000aa", "erasure")
        self.operations.write_intent(operation, {})
        log = OperationLog(operation, self.operations, lambda: NOW)
        partner = self.partner.in_new_session(log.note)
        for erasure in erased_one_by_one(partner, log, self.journals, lambda: NOW, ProofList(proof_ids)):
            self.told.append(erasure)
        log.end("complete", {})
        self.journals.delete(operation.operation_id)
        return recovered

    def rows(self) -> list[Row]:
        """Read the table."""
        results = self.operations.results
        rows = results.table("erasures", results.all_parts("erasures")).to_pylist()
        return sorted(rows, key=lambda row: (str(row["operation_id"]), str(row["proof_id"])))
