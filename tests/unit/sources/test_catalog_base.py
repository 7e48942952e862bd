"""A catalog's files have the same names however its location is written; rows have the facts of their files."""

import os
from pathlib import Path

import pytest

from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.catalog import CatalogBase, findings_of


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
        rooted = CatalogBase("/else", root=folder)
        assert base.named(f"{drop}/{absolute}") == rooted.named(f"{drop}/{absolute}") == "a.wav"
    assert base.named(f"{drop}/e/b.wav") == f"{os.path.realpath(drop)}/e/b.wav", "outside, a name is absolute"
    assert [base.named(each) for each in ("s3://bucket/a.wav", "/n\0l/a.wav", None)] == [
        *("s3://bucket/a.wav", "/n\0l/a.wav", "")
    ]


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


def facts_of(location: str) -> FileFacts | None:
    """Fail as a bucket without access does."""
    if location.startswith("s3"):
        raise SourceError("Forbidden.", reason=Reason.SOURCE_FORBIDDEN)
    return FileFacts(3, "v1")


@pytest.mark.parametrize(
    ("audio", "sidecar", "role"),
    [("s3://b/a.wav", None, "audio"), ("/drop/a.wav", "s3://b/s", "sidecar"), ("s3://b/a.wav", "s3://b/s", "audio")],
)
def test_a_file_that_cannot_be_examined_is_the_fault_of_its_row(audio: str, sidecar: str | None, role: str) -> None:
    """The row says which file it is, the audio first, and why; the other rows go on."""
    findings = findings_of(audio, sidecar, facts_of)

    assert findings.refused == Ineligible(Reason.SOURCE_FORBIDDEN, f"Of the {role}: Forbidden.")
