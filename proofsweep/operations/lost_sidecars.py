"""Which items may have lost their sidecar: those with a proof, by their newest answer; and where they are now."""

from collections.abc import Iterator
from dataclasses import dataclass

from proofsweep.answers.views.connection import opened
from proofsweep.store.plans_and_parts import Results

_ITEMS = """
WITH moves AS (  -- the last one of a file; of those that went to one place, only the last one is still there
    SELECT *
    FROM ingest
    QUALIFY row_number() OVER (PARTITION BY item_id, run_id ORDER BY acted_at DESC) = 1
        AND (audio_moved_to IS NULL OR row_number() OVER (PARTITION BY audio_moved_to ORDER BY acted_at DESC) = 1)
), placed AS (
    SELECT
        answers.proof_id, answers.item_id, answers.audio, answers.sidecar, answers.sidecar_sha256,
        answers.relative_path, answers.accepted, answers.audio_bytes,
        coalesce(moves.audio_moved_to, moves.audio, answers.audio) AS placed_audio,
        coalesce(moves.sidecar_moved_to, moves.sidecar, answers.sidecar) AS placed_sidecar
    FROM latest_answer AS answers
    LEFT JOIN moves  -- by the bytes: a file that was renamed before it was moved has another item
        ON moves.run_id = answers.run_id AND moves.audio_sha256 = answers.audio_sha256
        AND moves.sidecar_sha256 IS NOT DISTINCT FROM answers.sidecar_sha256
    WHERE answers.proof_id NOT IN ('', '.', '..') AND (answers.sidecar IS NOT NULL OR $with_one_files)
        AND NOT starts_with(answers.audio, 'proof:')
    QUALIFY row_number() OVER (
        PARTITION BY placed_audio, placed_sidecar ORDER BY coalesce(moves.item_id <> answers.item_id, false)) = 1
)
FROM placed
WHERE $below IN (audio, placed_audio) OR starts_with(audio, $folder) OR starts_with(placed_audio, $folder)
ORDER BY audio
"""
# Rows that are in memory at once. Chosen: any value from 2,500 to 10,000 does.
_BATCH_ROWS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenItem:
    """An item with a proof, as the snapshot has it.

    Attributes:
        placed_audio, placed_sidecar: where they are now, if `ingest` has moved them.
    """

    proof_id: str
    item_id: str
    audio: str
    sidecar: str | None  # where its sidecar was when it was verified; None for a one-file item
    sidecar_sha256: str | None  # of the sidecar that was sent
    relative_path: str | None
    accepted: bool
    audio_bytes: int | None  # size of the audio that was sent
    placed_audio: str
    placed_sidecar: str | None


def proven_items(results: Results, environment: str, below: str = "", *, with_one_files: bool) -> Iterator[ProvenItem]:
    """Yield the items with a proof in the order of their locations: in all folders, or below one, then or now.

    ResultsError if the store cannot be read, or has no run of the environment.
    """
    with opened(results, environment, with_tags=False) as store:
        folder = f"{below.removesuffix('/')}/" if below else ""
        wanted = {"below": below, "folder": folder, "with_one_files": with_one_files}
        answer = store.connection.execute(_ITEMS, wanted)
        columns = [name for name, *_ in answer.description or ()]
        while rows := answer.fetchmany(_BATCH_ROWS):
            for row in rows:
                yield ProvenItem(**dict(zip(columns, row, strict=True)))
