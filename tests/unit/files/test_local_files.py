"""Files of this machine are read whatever stands at their names, and no name leads out of the root."""

import hashlib
import os
from collections.abc import Callable
from contextlib import nullcontext
from errno import EACCES, EHOSTDOWN, EIO, EMFILE, ENFILE, ENOMEM, ENOTCONN, EOPNOTSUPP, EPERM, ESTALE
from functools import partial
from pathlib import Path
from typing import NoReturn

import obstore
import pytest
from obstore.store import MemoryStore

from proofsweep.config.locations import make_folder
from proofsweep.domain.errors import NameTaken, ResourceShortage, SourceError
from proofsweep.domain.reasons import Reason
from proofsweep.files import bucket_files
from proofsweep.files.bucket_files import BucketFiles
from proofsweep.files.files import Files
from proofsweep.files.local_files import path_inside
from proofsweep.files.moving import Moves

OUTSIDE, UNREADABLE = Reason.OUTSIDE_CATALOG, Reason.UNREADABLE_FILE
NAMES: dict[str, bytes | Reason | None] = {
    **dict.fromkeys(("a.wav", "sub/a.wav", "link to sub/a.wav", "link.wav", "sub/../a.wav"), b"abc"),
    **dict.fromkeys(("nothing", "a.wav/below", "n\0l", "\ud800", "x" * 300, "circle", "dangling"), None),
    **dict.fromkeys(("sub", "fifo", "link to a fifo"), UNREADABLE),  # a FIFO would keep a worker forever
    **dict.fromkeys(("/etc/hosts", "../secret", "gone/../../secret", "out", "up/secret", "/gone"), OUTSIDE),
}


@pytest.mark.parametrize(("name", "found"), NAMES.items())
def test_a_name_leads_into_the_root_or_says_why_not(tmp_path: Path, name: str, found: bytes | Reason | None) -> None:
    """Links within the root are followed; of what lies outside it is not even told whether it is there."""
    root = tmp_path / "drop"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "secret").write_bytes(b"key")
    for each in ("a.wav", "sub/a.wav"):
        (root / each).write_bytes(b"abc")
    os.mkfifo(root / "fifo")
    links = {"link to sub": "sub", "link.wav": "sub/a.wav", "link to a fifo": "fifo", "out": "../secret", "up": ".."}
    for link, target in (links | {"circle": "circle", "dangling": "gone.wav"}).items():
        (root / link).symlink_to(target)
    location = name if name.startswith("/") else f"{root}/{name}"

    for files in [Files(os.path.realpath(root)), *([] if found is OUTSIDE else [Files()])]:
        for look in (files.facts, files.open):
            if isinstance(found, Reason):
                with pytest.raises(SourceError) as refused:
                    look(location)
                assert refused.value.reason == found
                assert "secret" not in refused.value.message
            else:
                assert (look(location) is None) is (found is None)
        file = None if isinstance(found, Reason) else files.open(location)
        assert (file and file.read_at(0, 10)) == (found if file else None)


def failing(number: int) -> Callable[..., NoReturn]:
    def fail(*_: object, **_more: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    return fail


SHORTAGE, AWAY = (Reason.SOURCE_UNAVAILABLE, ResourceShortage), (Reason.SOURCE_UNAVAILABLE, SourceError)
FAULTS = (
    dict.fromkeys((EMFILE, ENFILE, ENOMEM), SHORTAGE)
    | dict.fromkeys((EIO, ESTALE, ENOTCONN, EHOSTDOWN), AWAY)
    | dict.fromkeys((EACCES, EPERM), (UNREADABLE, SourceError))
)


@pytest.mark.parametrize("call", ["open", "pread", "fstat"])
@pytest.mark.parametrize(("number", "fault"), FAULTS.items())
def test_an_error_of_the_system_says_who_is_at_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int, fault: tuple[Reason, type[SourceError]]
) -> None:
    """This process, which has too few open files; the disk or server, which is away now; or the file itself."""
    (tmp_path / "a.wav").write_bytes(b"abc")
    location, files = str(tmp_path / "a.wav"), Files()
    opened = files.open(location)
    assert opened is not None
    looks = {"open": lambda: files.open(location), "pread": lambda: opened.read_at(0, 3), "fstat": opened.facts}

    with monkeypatch.context() as broken:
        broken.setattr(os, call, failing(number))
        with pytest.raises(SourceError, match=os.strerror(number)) as failed:
            looks[call]()
    opened.close()

    assert (failed.value.reason, type(failed.value)) == fault


def test_a_file_whose_facts_cannot_be_had_is_closed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a server that is away for a night would cost all open files."""
    (tmp_path / "a.wav").write_bytes(b"abc")
    before = len(list(Path("/proc/self/fd").iterdir()))
    with monkeypatch.context() as away:
        away.setattr(os, "fstat", failing(EIO))

        for _ in range(9):
            with pytest.raises(SourceError):
                Files().open(str(tmp_path / "a.wav"))

    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_folders_that_link_to_each_other_are_walked_once_each(tmp_path: Path) -> None:
    """Each of seven leads to all others: without memory that would be thousands of files."""
    for number in range(7):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "a.wav").touch()
        for other in range(7):
            (tmp_path / str(number) / f"to {other}").symlink_to(tmp_path / str(other))

    folders = list(Files().walk(str(tmp_path)))

    assert sorted(each.location for each in folders if each.files) == [f"{tmp_path}/{number}" for number in range(7)]
    assert sum(each.is_repeated for each in folders) == 49


def test_a_folder_may_lie_deeper_than_any_stack_of_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hostile delivery has such folders; they are as long as a path may be."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # of a thousand folders
    deep = tmp_path.joinpath(*["a"] * 1_050)
    make_folder(deep)
    (deep / "a.wav").touch()

    found = list(Files().walk(str(tmp_path)))
    Moves(Files()).put_back(str(tmp_path))
    (deep / "a.wav").unlink()
    Moves(Files()).remove_empty(str(tmp_path))

    assert (len(found), found[-1].files) == (1_051, ["a.wav"])
    assert not tmp_path.exists()


@pytest.fixture
def root(tmp_path: Path) -> str:
    """A folder with one file, beside a secret."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "a.wav").write_bytes(b"secret")
    (tmp_path / "drop" / "sub").mkdir(parents=True)
    (tmp_path / "drop" / "sub" / "a.wav").write_bytes(b"public")
    return os.path.realpath(tmp_path / "drop")


@pytest.mark.parametrize("swapped", ["sub", "sub/a.wav", "."])
def test_what_becomes_a_link_between_looking_and_opening_is_not_followed(
    root: str, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    """A supplier who replaces a folder, a file or the root itself at the worst moment gets nothing sent."""
    target = Path(root).parent / "secret" / ("a.wav" if swapped.endswith("wav") else "")
    if swapped == ".":
        (target / "sub").mkdir()
        (target / "sub" / "a.wav").write_bytes(b"secret")
    victim, look = Path(os.path.normpath(f"{root}/{swapped}")), path_inside

    def look_and_swap(location: str, inside: str) -> str:
        found = look(location, inside)
        if not victim.is_symlink():
            victim.rename(f"{victim}.away")
            victim.symlink_to(target)
        return found

    monkeypatch.setattr("proofsweep.files.local_files.path_inside", look_and_swap)
    with pytest.raises(SourceError) as refused:
        Files(root).open(f"{root}/sub/a.wav")

    assert refused.value.reason == Reason.OUTSIDE_CATALOG


@pytest.mark.parametrize("root", ["local", "s3://bucket/drop"])
def test_a_root_keeps_out_the_other_kind_of_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: str) -> None:
    """A manifest on this machine names no bucket, and one in a bucket names no file of this machine."""
    (tmp_path / "a.wav").write_bytes(b"local")
    store = MemoryStore()
    obstore.put(store, "drop/a.wav", b"bucket")
    monkeypatch.setattr(bucket_files, "BucketFiles", partial(BucketFiles, lambda _root: store))
    here, there = f"{tmp_path}/a.wav", "s3://bucket/drop/a.wav"
    mine, other = (here, there) if root == "local" else (there, here)
    inside = Files().within(os.path.realpath(tmp_path) if root == "local" else root)

    for look in (inside.facts, inside.open, lambda each: list(inside.walk(each))):
        with pytest.raises(SourceError) as refused:
            look(other)
        assert refused.value.reason == Reason.OUTSIDE_CATALOG
    for file in (inside.open(mine), inside.within(None).open(other)):
        assert file is not None
        file.close()
    with pytest.raises(SourceError):
        inside.facts("s3://bucket/drop2/a.wav")  # the rest of the bucket is outside


@pytest.mark.parametrize("code", [EPERM, EOPNOTSUPP])
def test_names_are_given_back_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """A folder that lies there for whatever reason gets its name back too; one that cannot is named."""
    aside = tmp_path / ".proofsweep-moving-aa"
    (aside / "scans").mkdir(parents=True)
    (aside / "a.wav").write_bytes(b"audio")
    stuck = tmp_path / "b/.proofsweep-moving-bb"
    (stuck / "scans").mkdir(parents=True)
    (tmp_path / "b/scans/others").mkdir(parents=True)
    monkeypatch.setattr(os, "link", failing(code))

    failed = Moves(Files()).put_back(str(tmp_path))

    assert ((tmp_path / "a.wav").read_bytes(), (tmp_path / "scans").is_dir()) == (b"audio", True)
    assert failed == {str(stuck): f"The file cannot be moved: Directory not empty. It lies in {stuck}."}


@pytest.mark.parametrize("code", [EPERM, EOPNOTSUPP])
def test_no_name_is_given_back_over_a_newer_delivery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """A producer that wrote the file again would have replaced the older one, also where there are no hard links."""
    aside = tmp_path / ".proofsweep-moving-aa"
    aside.mkdir()
    (aside / "a.wav").write_bytes(b"older")
    (tmp_path / "a.wav").write_bytes(b"newer")
    monkeypatch.setattr(os, "link", failing(code))

    assert Moves(Files()).put_back(str(tmp_path)) == {}

    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a.wav", b"newer")]


@pytest.mark.parametrize("content", [b"audio", b"other"])
def test_a_copy_without_an_answer_is_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """The repeated call says that the name is taken: by these bytes, or by another's."""
    (tmp_path / "a.wav").write_bytes(b"audio")
    target = tmp_path / "ok/a.wav"
    target.parent.mkdir()

    def twice(path: Path, _draft: Path) -> None:
        path.write_bytes(content)
        raise FileExistsError

    monkeypatch.setattr(Path, "hardlink_to", twice)
    sha256 = hashlib.sha256(b"audio").hexdigest()

    with nullcontext() if content == b"audio" else pytest.raises(NameTaken):
        assert Moves(Files()).copy(str(tmp_path / "a.wav"), str(target), sha256) is not None


def test_only_the_file_that_was_looked_at_is_removed(tmp_path: Path) -> None:
    """One that was replaced meanwhile keeps its name and its bytes; what a link leads to is somebody else's."""
    path, link, moves = tmp_path / "a.wav", tmp_path / "link.wav", Moves(Files())
    path.write_bytes(b"audio")
    before = Files().facts(str(path))
    assert before is not None
    path.write_bytes(b"newer one")
    newer = Files().facts(str(path))
    assert newer is not None

    assert not moves.remove(str(path), before)
    assert ([*tmp_path.iterdir()], path.read_bytes()) == ([path], b"newer one")
    link.symlink_to(path)
    with pytest.raises(SourceError, match="links are not moved"):
        moves.remove(str(link), newer)
    link.unlink()
    for _ in range(2):
        assert moves.remove(str(path), newer)
        assert [*tmp_path.iterdir()] == []
