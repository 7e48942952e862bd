"""A catalog's files have the same names however its location is written; rows have the facts of their files."""

import os
from pathlib import Path

import pytest

from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import FileFacts, Unlisted
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.catalog import CatalogBase, DeliveryCounts, SupplierFolder, row_with_facts


@pytest.fixture
def drop(tmp_path: Path) -> Path:
    """A folder, with a link to it and a link in it."""
    (tmp_path / "e" / "cat1" / "sub").mkdir(parents=True)
    (tmp_path / "e" / "cat1" / "again").symlink_to("sub")
    (tmp_path / "link").symlink_to("e/cat1")
    return tmp_path


@pytest.mark.parametrize("written", ["e/cat1", "e/../e/cat1", "link", "link/../cat1"])
@pytest.mark.parametrize("inner", ["a.wav", "again/a.wav", "./sub//a.wav", "sub/../a.wav"])
def test_a_name_does_not_hang_on_the_spelling_of_the_catalog(drop: Path, written: str, inner: str) -> None:
    """A link in the catalog keeps its own name; an absolute location has the name of a relative one."""
    folder = f"{drop}/{written}"

    base = CatalogBase(folder)

    assert (base.name, base.root) == ("cat1", os.path.realpath(drop / "e" / "cat1"))
    assert base.named(f"{folder}/{inner}") == os.path.normpath(inner)
    for absolute in ("e/cat1/a.wav", "link/a.wav", "e/../link/a.wav"):
        assert base.named(f"{drop}/{absolute}") == "a.wav"


@pytest.mark.parametrize(
    ("folder", "root", "name"),
    [
        ("s3://bucket/drops/2026", None, "2026"),
        ("s3://bucket", None, "bucket"),
        ("s3://bucket/drops/2026", "s3://bucket/drops/", "drops"),
        ("/", None, "/"),
    ],
)
def test_the_last_part_of_the_root_stands_for_the_catalog(folder: str, root: str | None, name: str) -> None:
    """Of a bucket without a prefix, the bucket."""
    assert CatalogBase(folder, root=root).name == name
    assert CatalogBase(folder, root=root, name="own").name == "own"


def test_names_are_relative_to_a_root_that_is_given(drop: Path) -> None:
    """Manifests of several folders name one file alike; outside the root, a name is absolute."""
    base = CatalogBase(f"{drop}/e", root=f"{drop}/e/cat1")

    assert base.named(f"{drop}/e/cat1/a.wav") == base.named(f"{drop}/e/../link/a.wav") == "a.wav"
    assert base.named(f"{drop}/e/b.wav") == f"{os.path.realpath(drop)}/e/b.wav"
    assert base.named("s3://bucket/a.wav") == "s3://bucket/a.wav"
    assert base.named(None) == ""


@pytest.mark.parametrize("location", ["/n\0l/a.wav", "/\ud800/a.wav"])
def test_a_name_that_no_folder_can_have_is_kept(location: str) -> None:
    """Its row is missing, and has an id."""
    assert CatalogBase("/drop").named(location) == location


PLACE = CatalogBase("/drop")
FACTS = {"/drop/a.wav": FileFacts(3, "v1"), "/else/a.sidecar": FileFacts(5, "v2")}


def refuse(location: str) -> FileFacts | Unlisted | None:
    """Fail for each file, as a bucket without access does."""
    raise SourceError(f"{location} is forbidden.", reason=Reason.SOURCE_FORBIDDEN)


@pytest.mark.parametrize(
    ("audio", "sidecar", "role"),
    [("/drop/a.wav", None, "audio"), (None, "/drop/a.sidecar", "sidecar"), ("/drop/a.wav", "/drop/s", "audio")],
)
def test_a_file_that_cannot_be_examined_makes_the_row_unreadable(
    audio: str | None, sidecar: str | None, role: str
) -> None:
    """The row says which file it is, the audio first, and why; the other rows go on."""
    row = row_with_facts(refuse, PLACE, number=0, audio=audio, sidecar=sidecar)

    assert row.refused is not None
    assert row.refused.reason is Reason.SOURCE_FORBIDDEN
    assert row.refused.detail.startswith(f"Of the {role}: ")
    assert row.refused.detail.endswith("is forbidden.")


def test_a_sidecar_in_a_bucket_that_is_not_there_is_missing() -> None:
    """The audio is there."""

    def facts_of(location: str) -> FileFacts | Unlisted | None:
        if location.startswith("s3"):
            raise SourceError("There is no bucket s3://b.", reason=Reason.MISSING_AUDIO)
        return FACTS.get(location)

    row = row_with_facts(facts_of, PLACE, number=0, audio="/drop/a.wav", sidecar="s3://b/s")

    assert row.refused == Ineligible(Reason.MISSING_SIDECAR, "Of the sidecar: There is no bucket s3://b.")


@pytest.mark.parametrize(
    ("number", "named_audio", "tags"),
    [
        (1, "Alba/x/a.wav", {"label": "Alba"}),
        (2, "Alba/x/a.wav", {"label": "x"}),
        (3, "Alba/x/a.wav", {}),
        (1, "a.wav", {}),
        (1, "Alba/", {"label": "Alba"}),
        (1, "/mnt/x/a.wav", {}),
        (1, "s3://bucket/x/a.wav", {}),
        (1, "proof:p-1", {}),
        (None, "Alba/a.wav", {}),
    ],
)
def test_a_folder_may_be_the_supplier(number: int | None, named_audio: str, tags: dict[str, str]) -> None:
    """As seen from the root; a file that lies less deep or outside has none."""
    assert SupplierFolder(number, "label").tags_of(named_audio) == tags


def test_a_column_of_the_supplier_goes_before_the_folder() -> None:
    """In any case; its empty cells stay empty."""
    supplier = SupplierFolder(1)

    assert supplier.tags_of("Alba/a.wav", ["isrc", "Supplier"]) == {}
    assert (supplier.among(["Supplier"]), supplier.among(["isrc"])) == (["Supplier"], ["isrc", "supplier"])
    assert SupplierFolder().among(["isrc"]) == ["isrc"]


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (
            DeliveryCounts(batches=2, releases=31, senders=3, files=1407, missing=4, unnamed=2),
            "2 batches, 31 releases of 3 senders, 1,407 files; 4 named files are not there; 2 files no message names",
        ),
        (
            DeliveryCounts(batches=1, releases=1, senders=1, files=1, unreadable=1, without_files=3),
            "1 batch, 1 release of 1 sender, 1 file; 1 message cannot be read; 3 messages without files",
        ),
    ],
)
def test_what_was_found_of_deliveries_is_one_line(counts: DeliveryCounts, words: str) -> None:
    """First what there is, then what is wrong with it, without what there is none of; and one is not many."""
    assert counts.in_words == words
