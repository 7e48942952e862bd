"""A new key waits beside its place, and then takes it."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import SecretStr

from proofsweep.config.sections import ServiceSettings
from proofsweep.domain.errors import ConfigError
from proofsweep.operations.key_store import KeyStore

NEW = SecretStr("pk_new")


@pytest.mark.parametrize(
    ("umask", "mode", "expected"), [(0o077, 0o640, 0o640), (0o077, 0o444, 0o444), (0, None, 0o600)]
)
def test_the_new_key_file_has_the_mode_of_the_old_one(
    tmp_path: Path, umask: int, mode: int | None, expected: int
) -> None:
    """A worker that reads the key by its group reads the new one, too; where none was, it is for its owner only."""
    if mode is not None:
        (tmp_path / "key").write_text("pk_old")
        (tmp_path / "key").chmod(mode)
    before = os.umask(umask)
    try:
        key_store = KeyStore(tmp_path / "key")
        key_store.check()
        key_store.keep(NEW)
        waits = (tmp_path / "key.new").stat().st_mode & 0o777
        key_store.promote()
    finally:
        os.umask(before)

    assert (waits, (tmp_path / "key").stat().st_mode & 0o777) == (expected, expected)


def refuse(*_: object) -> None:
    raise PermissionError(errno.EPERM, "Operation not permitted")


@pytest.mark.parametrize(
    ("name", "act", "why"),
    [
        ("fchown", refuse, r"key \(Operation not permitted\).*--new-key-file.*nothing was rotated"),
        ("fchmod", lambda *_: None, "the file system gives it others"),  # some say yes, and do nothing
    ],
)
def test_rights_that_cannot_be_kept_are_refused_before_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[..., None], why: str
) -> None:
    """Only root may give a file to another user; nothing is left behind."""
    (tmp_path / "key").write_text("pk_old")
    (tmp_path / "key").chmod(0o640)
    monkeypatch.setattr(os, name, act)

    with pytest.raises(ConfigError, match=why):
        KeyStore(tmp_path / "key").check()

    assert os.listdir(tmp_path) == ["key"]  # noqa: PTH208 - hidden files count


def test_where_no_key_can_be_put_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is of another file system than its folder, and a rename onto it fails; so do a circle and a missing folder."""
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(ConfigError, match="circle"):
        KeyStore.of(ServiceSettings(base_url="http://127.0.0.1/v1", environment="sandbox"), tmp_path / "circle")
    with pytest.raises(ConfigError, match=r"missing/key cannot be written \(No such file or directory\)"):
        KeyStore(tmp_path / "missing" / "key").check()
    (tmp_path / "key").write_text("pk_old")
    elsewhere, real = Path("/dev").stat(), Path.stat
    monkeypatch.setattr(Path, "stat", lambda path, **how: elsewhere if path == tmp_path else real(path, **how))

    with pytest.raises(ConfigError, match="is mounted"):
        KeyStore(tmp_path / "key").check()
