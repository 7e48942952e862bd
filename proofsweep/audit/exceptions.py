"""What a store may lack or have changed for a reason that is written down: prunings and redactions."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from proofsweep.errors import ResultsError
from proofsweep.model import layout
from proofsweep.model.findings import Findings
from proofsweep.model.pruning import Pruning
from proofsweep.model.redaction import Completed, RedactedObject, Redaction
from proofsweep.store.prunings import completed_at, prunings_of
from proofsweep.store.redactions import completion_of, intent_digest, redactions_of
from proofsweep.store.store import Store


@dataclass(frozen=True, slots=True)
class Step:
    """One redaction of one object; `completed` is None if the redaction did not come to its end."""

    redaction: Redaction
    before: RedactedObject
    completed: Completed | None


@dataclass(slots=True)
class Redactions:
    """All redactions of a store, by the object that they changed, the oldest first."""

    steps: dict[str, list[Step]] = field(default_factory=dict)
    receipts: dict[int, Completed] = field(default_factory=dict)

    def of(self, name: str) -> Sequence[Step]:
        """Return those of one object."""
        return self.steps.get(name, [])


def read_redactions(store: Store, findings: Findings) -> Redactions:
    """Read the redactions, and hold each receipt against its intent."""
    found = Redactions()
    try:
        redactions = list(redactions_of(store))
        for redaction in redactions:
            completed = _completion(store, redaction, findings)
            if completed is not None:
                found.receipts[redaction.number] = completed
            for each in redaction.objects:
                found.steps.setdefault(each.name, []).append(Step(redaction, each, completed))
    except ResultsError as damage:
        findings.bad(layout.REDACTED_FOLDER, damage.message)
        return found
    known = {layout.redaction_intent_name(each.number) for each in redactions}
    known |= {layout.redaction_receipt_name(number) for number in found.receipts}
    for name in set(store.names(layout.REDACTED_FOLDER)) - known:
        findings.bad(name, "is no intent of a redaction, and no receipt that belongs to one")
    for number, redaction in enumerate(redactions, start=1):
        if number != redaction.number:
            findings.bad(layout.redaction_intent_name(number), "is missing, or has another number than its name")
            break
    return found


def read_prunings(store: Store, run_id: str, findings: Findings) -> Sequence[Pruning]:
    """Read the prunings of a run, the oldest first; an interrupted one is a note."""
    try:
        prunings = prunings_of(store, run_id)
        open_ones = [pruning for pruning in prunings if completed_at(store, pruning) is None]
    except (ResultsError, ValueError, KeyError, TypeError):
        findings.bad(layout.pruning_folder(run_id), "holds a damaged intent or receipt of a pruning")
        return []
    if [(each.run_id, each.number) for each in prunings] != [(run_id, each + 1) for each in range(len(prunings))]:
        findings.bad(layout.pruning_folder(run_id), "holds the intent of a pruning of another run or number")
    for pruning in open_ones:
        name = layout.pruning_intent_name(run_id, pruning.number)
        findings.note(name, "has no receipt: the pruning was interrupted; repeat proofsweep prune")
    return prunings


def _completion(store: Store, redaction: Redaction, findings: Findings) -> Completed | None:
    name = layout.redaction_intent_name(redaction.number)
    completed = completion_of(store, redaction)
    if completed is None:
        findings.bad(name, "has no receipt: repeat proofsweep redact if it was interrupted; else it is false")
    elif completed.intent_sha256 != intent_digest(store, redaction):
        findings.bad(name, "was changed: its receipt names another digest")
    elif not set(completed.objects) <= {each.name for each in redaction.objects}:
        findings.bad(layout.redaction_receipt_name(redaction.number), "names other objects than its intent")
    return completed
