"""Which items may have lost their sidecar: those with a proof, by their newest answer."""

from collections.abc import Iterator
from dataclasses import dataclass

from proofsweep.query.connection import opened
from proofsweep.storage.results.plans_and_parts import Results

_ITEMS = """
SELECT proof_id, item_id, audio, sidecar, sidecar_sha256, relative_path, accepted
FROM latest_answer
WHERE proof_id IS NOT NULL AND starts_with(audio, $below) AND (sidecar IS NOT NULL OR $with_one_files)
    AND NOT starts_with(audio, 'proof:')
ORDER BY audio
"""
# Rows that are in memory at once. Chosen: half and twice cost the same.
_BATCH_ROWS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenItem:
    """An item with a proof, as the snapshot has it.

    Attributes:
        sidecar: where its sidecar was when it was verified; None for a one-file item.
        sidecar_sha256: of the sidecar that was sent.
    """

    proof_id: str
    item_id: str
    audio: str
    sidecar: str | None
    sidecar_sha256: str | None
    relative_path: str | None
    accepted: bool


def proven_items(results: Results, environment: str, below: str = "", *, with_one_files: bool) -> Iterator[ProvenItem]:
    """Give the items with a proof in the order of their locations.

    Args:
        results: where the answers are.
        environment: whose answers count.
        below: only items whose audio's location begins so.
        with_one_files: also items without a sidecar.

    Raises:
        ResultsError: the store cannot be read, or has no run of the environment.
    """
    with opened(results, environment, with_tags=False) as store:
        answer = store.connection.execute(_ITEMS, {"below": below, "with_one_files": with_one_files})
        columns = [name for name, *_ in answer.description or ()]
        while rows := answer.fetchmany(_BATCH_ROWS):
            for row in rows:
                yield ProvenItem(**dict(zip(columns, row, strict=True)))
