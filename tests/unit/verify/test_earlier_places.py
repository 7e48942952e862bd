"""An ID is of one file in all lists of a store, however the file moves."""

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from proofsweep.config.sections import CatalogSettings, ServiceSettings
from proofsweep.domain.errors import CatalogError
from proofsweep.domain.items import WorkItem, utf8_text
from proofsweep.files.files import Files
from proofsweep.sources.open_catalog import open_catalog
from proofsweep.sources.selection import ALL_ROWS, Selection
from proofsweep.store.listings import Listing
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.verify.plan import DueRows, Planner

from ...worlds.ended_runs import answered, end_leg, plan_of_run
from ..scripted_service import NOW

SETTINGS = CatalogSettings(columns={"id": "Nr"}, root="anywhere")


class TwoMonths:
    """A file of November that was rejected under an ID, and a list of December that has the ID too."""

    def __init__(self, folder: Path) -> None:
        self.earlier, self.listed = folder / "november" / "1.wav", folder / "december" / "1.wav"
        self.list = folder / "december.csv"
        service = ServiceSettings(base_url="https://partner.example/v1", environment="beta", sidecar_field="sidecar")
        store = FolderStore(folder / "results")
        self.planner = Planner(results=Results(store), service=service, catalogs=SETTINGS, clock=lambda: NOW)
        for path, content in ((self.earlier, b"november"), (self.listed, b"december")):
            path.parent.mkdir()
            path.write_bytes(content)
        (self.earlier.parent / "cover.jpg").touch()
        self.name(self.listed)

    def name(self, *files: Path) -> None:
        """Write the list of files; each has its number as the ID."""
        self.list.write_text("\n".join(["audio,Nr", *(f"{file},{at}" for at, file in enumerate(files, 1))]))

    def answer(self, catalog: str = "/november.csv", audio: str | None = None) -> None:
        facts = Files().facts(str(self.earlier))
        assert facts is not None
        day = 20 + len(self.planner.results.store.folders("_runs"))
        plan = plan_of_run(f"202611{day}T010000Z_000aa", catalog=catalog)
        row = answered(plan, 0, "1", "rejected", audio=audio or str(self.earlier), audio_version=facts.version)
        digest = hashlib.sha256(self.earlier.read_bytes()).hexdigest()
        end_leg(self.planner.results, plan, [row | {"audio_bytes": facts.size_bytes, "audio_sha256": digest}])

    def plan(self, selection: Selection = ALL_ROWS) -> None:
        whole = open_catalog(str(self.list), SETTINGS)
        rows = whole if selection == ALL_ROWS else DueRows(whole, selection, self.planner)
        self.planner.plan(rows, selection, lambda: None)


@pytest.fixture
def months(tmp_path: Path) -> TwoMonths:
    return TwoMonths(tmp_path)


@pytest.mark.parametrize("selection", [ALL_ROWS, Selection(where="Nr = '1'"), Selection(since_last=True)])
@pytest.mark.parametrize("few", [0, 1_000])
def test_an_id_of_another_file_is_refused_before_anything_is_written(
    months: TwoMonths, selection: Selection, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line names both files, the ID, and what to do, however the rows are chosen, and however many there are."""
    monkeypatch.setattr("proofsweep.verify.earlier_places._FEW_ITEMS", few)
    months.answer()

    with pytest.raises(CatalogError) as refused:
        months.plan(selection)

    for words in ("december.csv, line 2: the id '1'", str(months.earlier), str(months.listed), "catalog.columns.id"):
        assert words in refused.value.message
    assert months.planner.results.store.folders("_runs") == ["20261120T010000Z_000aa"]


def _copy(months: TwoMonths) -> None:
    shutil.copy(months.earlier, months.listed)
    os.utime(months.listed, (1, 1))


def _link(months: TwoMonths) -> None:
    months.earlier.write_bytes(b"corrected since")
    months.listed.unlink()
    months.listed.symlink_to(months.earlier)


def _name_both(months: TwoMonths) -> None:
    months.answer(str(months.list))
    months.name(months.listed, months.earlier)


def _unmount(months: TwoMonths) -> None:
    shutil.rmtree(months.earlier.parent)
    months.earlier.parent.mkdir()


@pytest.mark.parametrize(
    ("happens", "is_refused"),
    [
        (lambda months: months.earlier.rename(months.listed), False),
        (lambda months: months.earlier.unlink(), False),  # it was moved, and corrected
        (_copy, False),
        (_link, False),
        (lambda months: months.answer(str(months.list)), False),  # the list itself says that the ID has a new file
        (_name_both, True),  # the rows were numbered anew
        (_unmount, True),  # nobody knows whether the file is gone
        (lambda months: months.listed.unlink(), False),  # then the row itself says what is wrong
        (lambda months: months.answer(audio="proof:p-1"), True),
    ],
)
def test_a_file_keeps_its_id_when_it_moves_or_is_corrected(
    months: TwoMonths, happens: Callable[[TwoMonths], object], *, is_refused: bool
) -> None:
    """Only a file that stands where it was is another one for sure; a file that may be away could be."""
    months.answer()
    happens(months)

    if is_refused:
        with pytest.raises(CatalogError, match="so one answer would hide the other"):
            months.plan()
    else:
        months.plan()


def test_a_file_whose_name_is_not_utf_8_still_stands_where_it_was(months: TwoMonths) -> None:
    """The text of its place in the tables is no file."""
    months.earlier = months.earlier.rename(os.fsdecode(os.fsencode(months.earlier) + b"\xf6"))
    months.answer(audio=utf8_text(str(months.earlier)))
    listing = Listing()
    listing.add(WorkItem(manifest_row=0, item_id="1", audio=str(months.earlier)))
    listing.write(months.planner.results, "20261120T010000Z_000aa", "items")

    with pytest.raises(CatalogError, match="so one answer would hide the other"):
        months.plan()


def test_only_some_files_of_a_copied_catalog_are_read(months: TwoMonths, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many that are the same show that it was copied; a file of another size is another one still."""
    monkeypatch.setattr("proofsweep.verify.earlier_places._MOST_READ", 0)
    months.answer()
    months.plan()

    months.listed.write_bytes(b"another size")
    with pytest.raises(CatalogError):
        months.plan()
