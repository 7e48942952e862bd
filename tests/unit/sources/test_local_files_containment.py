"""No name leads out of the root, whatever happens between looking and opening."""

import os
from pathlib import Path

import pytest

from proofsweep.domain.errors import SourceError
from proofsweep.domain.reasons import Reason
from proofsweep.sources import local
from proofsweep.sources.local import open_inside, outside_catalog


@pytest.fixture
def root(tmp_path: Path) -> str:
    """A folder with one file, beside a secret."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "a.wav").write_bytes(b"secret")
    (tmp_path / "drop" / "sub").mkdir(parents=True)
    (tmp_path / "drop" / "sub" / "a.wav").write_bytes(b"public")
    return os.path.realpath(tmp_path / "drop")


def read(location: str, root: str) -> bytes:
    """Open a file and read it."""
    descriptor = open_inside(location, root, os.O_RDONLY)
    try:
        return os.read(descriptor, 10)
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("everywhere", [False, True])
def test_a_file_inside_is_opened(root: str, *, everywhere: bool) -> None:
    """Of the folder that is named, or of the whole machine."""
    assert read(f"{root}/sub/a.wav", "/" if everywhere else root) == b"public"


@pytest.mark.parametrize("swapped", ["sub", "sub/a.wav", "."])
def test_what_becomes_a_link_between_looking_and_opening_is_not_followed(
    root: str, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    """A supplier who replaces a folder, a file or the root itself at the worst moment gets nothing sent."""
    target = Path(root).parent / "secret" / ("a.wav" if swapped.endswith("wav") else "")
    if swapped == ".":
        (target / "sub").mkdir()
        (target / "sub" / "a.wav").write_bytes(b"secret")
    look = local.path_inside
    looks = list[str]()

    def look_and_swap(location: str, inside: str) -> str:
        looks.append(found := look(location, inside))
        if len(looks) == 1:
            victim = Path(os.path.normpath(f"{root}/{swapped}"))
            victim.rename(f"{victim}.away")
            victim.symlink_to(target)
        return found

    monkeypatch.setattr(local, "path_inside", look_and_swap)

    with pytest.raises(SourceError) as refused:
        read(f"{root}/sub/a.wav", root)

    assert refused.value.reason == Reason.OUTSIDE_CATALOG


def test_a_way_that_changes_within_the_root_fails_for_now(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next try finds the new way."""
    Path(root, "new").mkdir()
    look = local.path_inside

    def look_and_swap(location: str, inside: str) -> str:
        found = look(location, inside)
        if not Path(root, "sub").is_symlink():
            Path(root, "sub").rename(f"{root}/old")
            Path(root, "sub").symlink_to("new")
        return found

    monkeypatch.setattr(local, "path_inside", look_and_swap)

    with pytest.raises(SourceError) as refused:
        read(f"{root}/sub/a.wav", root)

    assert refused.value.reason == Reason.SOURCE_CHANGED


def test_the_message_names_the_root_and_the_way_out() -> None:
    """In one line, and not where the link leads."""
    assert outside_catalog("/caf\udce9\n").message == (
        r"This leads outside the catalog's root /caf\xe9\n/: if it is meant, set catalog.root or catalog.outside."
    )
