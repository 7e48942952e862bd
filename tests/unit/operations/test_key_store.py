"""A new key waits beside its place, and then takes it: in files, and in secret blocks."""

import errno
import os
import struct
from pathlib import Path

import pytest
from pydantic import SecretStr

from proofsweep.domain.errors import ConfigError
from proofsweep.operations.key_store import BlockKeyStore, FileKeyStore, KeyStore, SecretBlocks

OLD, NEW = SecretStr("pk_old"), SecretStr("pk_new")


def _missing(name: str) -> str:
    raise ConfigError(f"There is no block {name}.")


@pytest.fixture(params=["file", "block"])
def key_store(request: pytest.FixtureRequest, tmp_path: Path) -> KeyStore:
    if request.param == "file":
        (tmp_path / "key").write_text("pk_old\n")
        return FileKeyStore.of(tmp_path / "key")
    held = {"key": "pk_old"}
    return BlockKeyStore(
        "key",
        SecretBlocks(
            read=lambda name: held[name] if name in held else _missing(name),
            write=held.__setitem__,
            delete=lambda name: held.pop(name, None) and None,
        ),
    )


def test_a_key_waits_until_it_is_promoted(key_store: KeyStore) -> None:
    """Or is discarded; each step can be repeated."""
    key_store.check()
    key_store.keep(NEW)
    key_store.discard()
    key_store.discard()
    assert (key_store.current(), key_store.waiting()) == (OLD, None)
    key_store.keep(NEW)
    key_store.keep(NEW)
    assert (key_store.current(), key_store.waiting()) == (OLD, NEW)

    key_store.promote()

    assert (key_store.current(), key_store.waiting()) == (NEW, None)


@pytest.mark.parametrize("mode", [0o640, 0o444])
def test_the_new_key_file_has_the_mode_of_the_old_one(tmp_path: Path, mode: int) -> None:
    """Whatever the umask: a worker that reads the key by its group reads the new one, too."""
    (tmp_path / "key").write_text("pk_old")
    (tmp_path / "key").chmod(mode)
    before = os.umask(0o077)
    try:
        key_store = FileKeyStore.of(tmp_path / "key")
        key_store.check()
        key_store.keep(NEW)
        waits = (tmp_path / "key.new").stat().st_mode & 0o777
        key_store.promote()
    finally:
        os.umask(before)

    assert (waits, (tmp_path / "key").stat().st_mode & 0o777) == (mode, mode)


def test_a_key_file_that_is_made_is_for_its_owner_only(tmp_path: Path) -> None:
    """Whatever the umask."""
    before = os.umask(0)
    try:
        key_store = FileKeyStore.of(tmp_path / "key", is_new=True)
        key_store.keep(NEW)
        key_store.promote()
    finally:
        os.umask(before)

    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


def test_rights_that_cannot_be_kept_are_refused_before_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only root may give a file to another user; nothing is left behind."""

    def refuse(_file: int, _uid: int, _gid: int) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    (tmp_path / "key").write_text("pk_old")
    monkeypatch.setattr(os, "fchown", refuse)

    with pytest.raises(ConfigError, match=r"key \(Operation not permitted\).*--new-key-file.*nothing was rotated"):
        FileKeyStore.of(tmp_path / "key").check()

    assert os.listdir(tmp_path) == ["key"]  # noqa: PTH208 - hidden files count


def test_a_group_that_a_file_system_does_not_keep_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some say yes, and do nothing."""
    (tmp_path / "key").write_text("pk_old")
    (tmp_path / "key").chmod(0o640)
    monkeypatch.setattr(os, "fchmod", lambda _file, _mode: None)

    with pytest.raises(ConfigError, match="the file system gives it others"):
        FileKeyStore.of(tmp_path / "key").check()


def test_where_no_key_can_be_put_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is of another file system than its folder, and a rename onto it fails; so do a circle and a missing folder."""
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(ConfigError, match="circle"):
        FileKeyStore.of(tmp_path / "circle").check()
    with pytest.raises(ConfigError, match=r"missing/key cannot be written \(No such file or directory\)"):
        FileKeyStore.of(tmp_path / "missing" / "key", is_new=True).check()
    (tmp_path / "key").write_text("pk_old")
    elsewhere, real = Path("/dev").stat(), Path.stat
    monkeypatch.setattr(Path, "stat", lambda path, **how: elsewhere if path == tmp_path else real(path, **how))

    with pytest.raises(ConfigError, match="is mounted"):
        FileKeyStore.of(tmp_path / "key").check()


def test_a_new_file_never_replaces_another_one(tmp_path: Path) -> None:
    """Somebody made it while the key was tested."""
    key_store = FileKeyStore.of(tmp_path / "key", is_new=True)
    key_store.keep(NEW)
    (tmp_path / "key").write_text("pk_other")

    with pytest.raises(ConfigError, match=r"exists; the new key is in .*key\.new"):
        key_store.promote()

    assert (tmp_path / "key").read_text() == "pk_other"


def _access(*others: tuple[int, int, int]) -> bytes:
    """Return an ACL of mode 640, with further entries: tag, rights and ID (Linux, posix_acl_xattr.h, version 2)."""
    entries = [(0x01, 6, 2**32 - 1), *others, (0x04, 0, 2**32 - 1), (0x10, 4, 2**32 - 1), (0x20, 0, 2**32 - 1)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *each) for each in entries)


def _set_acl(path: Path, kind: str, acl: bytes) -> None:
    try:
        os.setxattr(path, f"system.posix_acl_{kind}", acl)
    except OSError as error:
        pytest.skip(f"needs a file system with ACLs: {error.strerror}")


def test_an_acl_is_kept(tmp_path: Path) -> None:
    """A worker that reads the key by an entry of its own reads the new one, too."""
    (tmp_path / "key").write_text("pk_old")
    _set_acl(tmp_path / "key", "access", _access((0x02, 4, 4711)))
    acl = os.getxattr(tmp_path / "key", "system.posix_acl_access")

    FileKeyStore.of(tmp_path / "key").keep(NEW)

    assert os.getxattr(tmp_path / "key.new", "system.posix_acl_access") == acl
    assert (tmp_path / "key.new").stat().st_mode & 0o777 == 0o640


def test_an_acl_that_a_folder_gives_to_new_files_lets_nobody_in(tmp_path: Path) -> None:
    """The old file was there before, and has none."""
    (tmp_path / "key").write_text("pk_old")
    (tmp_path / "key").chmod(0o640)
    _set_acl(tmp_path, "default", _access((0x02, 4, 4711)))

    FileKeyStore.of(tmp_path / "key").keep(NEW)

    assert "system.posix_acl_access" not in os.listxattr(tmp_path / "key.new")
    assert (tmp_path / "key.new").stat().st_mode & 0o777 == 0o640


def test_what_a_killed_command_had_begun_is_no_key(tmp_path: Path) -> None:
    """The same command writes it again."""
    (tmp_path / "key").write_text("pk_old\n")
    (tmp_path / "key.new").touch()
    key_store = FileKeyStore.of(tmp_path / "key")

    assert (key_store.waiting(), key_store.leftovers()) == (None, [str(tmp_path / "key.new")])
    key_store.keep(NEW)

    assert key_store.waiting() == NEW


def test_no_place_shows_a_key(key_store: KeyStore) -> None:
    """Neither in its names nor in its repr."""
    key_store.keep(NEW)

    assert "pk_" not in f"{key_store.name}{key_store.waiting_name}{key_store!r}"
