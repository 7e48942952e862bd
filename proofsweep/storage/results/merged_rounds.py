"""The receipts of rounds of monitoring that were merged: kept word by word, in one object of a day."""

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proofsweep.domain import layout
from proofsweep.domain.operations import Operation, operation_of
from proofsweep.errors import ResultsError
from proofsweep.storage.results.operations import receipted_parts
from proofsweep.storage.results.receipts import Part
from proofsweep.storage.results.store import Store

DAMAGE = (OSError, EOFError, ValueError, TypeError, KeyError, AttributeError)
"""What is raised for bytes that hold no such receipts."""


@dataclass(frozen=True, slots=True)
class MergedRound:
    """A round of monitoring; `receipt` is the text of its receipt."""

    operation_id: str
    receipt: str

    @property
    def document(self) -> Mapping[str, Any]:
        """Give what the receipt says; one of DAMAGE if it is none."""
        document = json.loads(self.receipt)
        if document["operation_id"] != self.operation_id:
            raise ValueError(self.operation_id)
        return dict(document)

    @property
    def operation(self) -> Operation:
        """Give the round as an operation; one of DAMAGE if the receipt is none."""
        return operation_of(self.document)

    @property
    def parts(self) -> list[Part]:
        """Give the parts that the receipt names; one of DAMAGE if it is none."""
        return receipted_parts(self.document)


def write_rounds(store: Store, operation_id: str, rounds: Sequence[MergedRound]) -> None:
    """Write the receipts of rounds under the operation that they are merged into.

    Raises:
        NameTaken: another process merges the same day.
    """
    document = [{"operation_id": each.operation_id, "receipt": each.receipt} for each in rounds]
    store.create(layout.rounds_name(operation_id), gzip.compress(json.dumps(document).encode(), mtime=0))


def read_rounds(store: Store, operation_id: str) -> list[MergedRound]:
    """Read the receipts of the rounds that were merged into an operation; none if it is no such operation.

    Raises:
        ResultsError: they are damaged.
    """
    name = layout.rounds_name(operation_id)
    content = store.read(name)
    try:
        return [] if content is None else rounds_in(content)
    except DAMAGE as damage:
        raise ResultsError(f"{name} in the results store {store.url} is damaged. Restore it from a backup.") from damage


def rounds_in(content: bytes) -> list[MergedRound]:
    """Read such an object; one of DAMAGE if it is none."""
    return [
        MergedRound(str(each["operation_id"]), str(each["receipt"])) for each in json.loads(gzip.decompress(content))
    ]
