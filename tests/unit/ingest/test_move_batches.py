"""Choosing where the files of a delivery go."""

from dataclasses import replace
from pathlib import Path

import pytest

from proofsweep.domain.items import ManifestRow, WorkItem
from proofsweep.ingest.deliveries import BatchRow, DeliveredBatch
from proofsweep.ingest.moves import BatchDisposal, Disposal, DisposalResult, Move
from proofsweep.ingest.rules import Decision, Disposition, PastAnswer
from proofsweep.sources.ddex_delivery import Release
from proofsweep.sources.files import Files
from proofsweep.sources.moves import Moves
from proofsweep.sources.preflight import SizeLimits, work_item_of

ANSWER = PastAnswer(**dict.fromkeys(PastAnswer.__slots__))  # type: ignore[arg-type]  # only some cells matter
FILES = ["manifest.xml", "r1/a.wav", "r1/r1.xml", "r2/b.wav", "r2/r2.xml"]


@pytest.fixture
def batch(tmp_path: Path) -> DeliveredBatch:
    """A batch of two releases, of which the second is rejected."""
    folder = tmp_path / "in" / "B1"
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode())
    rows = [
        BatchRow(
            name,
            ManifestRow(number=0, audio=str(folder / name), release=str(folder / name.split("/")[0])),
            Decision.ANSWERED,
            replace(ANSWER, outcome=outcome),
        )
        for name, outcome in {"r1/a.wav": "accepted", "r2/b.wav": "rejected"}.items()
    ]
    return DeliveredBatch(
        location=str(folder),
        completion=str(folder / "manifest.xml"),
        needs_completion=True,
        releases={str(folder / name): Release(location=str(folder / name)) for name in ("r1", "r2")},
        rows=rows,
    )


def item_of(row: ManifestRow) -> WorkItem:
    """Return the work item of a row."""
    return work_item_of(row, "in", SizeLimits())


def chosen(
    batch: DeliveredBatch, root: Path, *, by_release: bool = False, **targets: str | None
) -> Move | DisposalResult:
    """Choose the names."""
    disposal = Disposal(
        moves=Moves(Files()),
        watched=str(root / "in"),
        accepted=targets.get("accepted", str(root / "ok")),
        quarantine=targets.get("quarantine", str(root / "bad")),
    )
    return BatchDisposal(disposal=disposal, by_release=by_release).chosen(batch, item_of)


def names_of(move: Move | DisposalResult, root: Path) -> list[str]:
    """Name where the files go, in their order."""
    assert isinstance(move, Move), move
    return [str(Path(file.target).relative_to(root)) for file in move.files]


def test_the_completion_file_is_the_last_and_messages_come_before_it(batch: DeliveredBatch, tmp_path: Path) -> None:
    """Who sees it at the target knows that all is there."""
    names = names_of(chosen(batch, tmp_path), tmp_path)

    assert names == [f"bad/B1/{name}" for name in ("r1/a.wav", "r2/b.wav", "r1/r1.xml", "r2/r2.xml", "manifest.xml")]


def test_releases_without_a_target_stay_with_the_files_of_the_batch(batch: DeliveredBatch, tmp_path: Path) -> None:
    """What stays is still a batch that is complete."""
    move = chosen(batch, tmp_path, by_release=True, quarantine=None)

    assert names_of(move, tmp_path) == ["ok/B1/r1/a.wav", "ok/B1/r1/r1.xml"]
    assert isinstance(move, Move)
    assert [each.disposition for each in move.items] == [Disposition.ACCEPTED]


def test_a_batch_without_a_target_stays(batch: DeliveredBatch, tmp_path: Path) -> None:
    """That is no failure."""
    assert chosen(batch, tmp_path, quarantine=None) == DisposalResult(Disposition.LEFT)


def test_one_name_that_is_taken_gives_all_files_other_names(batch: DeliveredBatch, tmp_path: Path) -> None:
    """So the files of a batch stay together; names with the same bytes are not ours to delete."""
    (tmp_path / "bad/B1/r1").mkdir(parents=True)
    (tmp_path / "bad/B1/r1/a.wav").write_bytes(b"r1/a.wav")
    first = chosen(batch, tmp_path)
    (tmp_path / "bad/B1/r1/r1.xml").write_bytes(b"another file")
    second = chosen(batch, tmp_path)

    assert isinstance(first, Move)
    assert [file.owns for file in first.files] == [False, True, True, True, True]
    folders = {name.split("/")[1] for name in names_of(second, tmp_path)}
    assert folders != {"B1"}
    assert len(folders) == 1


def test_a_batch_with_a_link_stays(batch: DeliveredBatch, tmp_path: Path) -> None:
    """Of a file, or of a folder in it."""
    (tmp_path / "in/B1/r1/cover.jpg").symlink_to(tmp_path / "cover.jpg")
    assert chosen(batch, tmp_path) == DisposalResult(
        Disposition.LEFT, detail="It holds a link, and links are not moved."
    )

    (tmp_path / "in/B1/r1/cover.jpg").unlink()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "in/B1/r1/scans").symlink_to(tmp_path / "elsewhere")
    assert chosen(batch, tmp_path) == DisposalResult(
        Disposition.LEFT, detail="A folder in it is a link, and links are not moved."
    )
