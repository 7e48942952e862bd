"""The key comes from where it is kept, is never shown, and a new one in a file has the rights of the old."""

import hashlib
import os
import struct
from pathlib import Path

import pytest
from pydantic import SecretStr

from proofsweep.client.keys import (
    CurrentKey,
    drafts_beside,
    fingerprint,
    key_file,
    key_variable,
    usable_key,
    write_draft,
)
from proofsweep.domain.errors import ConfigError

KEY = "pk_SECRET-1"


def test_a_missing_key_file_is_named(tmp_path: Path) -> None:
    """The message says which file, and why it cannot be read."""
    with pytest.raises(ConfigError, match=r"nowhere cannot be read \(No such file"):
        key_file(tmp_path / "nowhere")()


@pytest.mark.parametrize("text", ["", " \n", "two keys", "a\nb", "clé", "a\x00b", "a\x7f"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(text: str) -> None:
    """A broken key is a mistake in the configuration, and still a secret."""
    with pytest.raises(ConfigError) as raised:
        usable_key(text, where="The test")

    assert raised.value.message.startswith("The test holds")
    assert not text.strip() or text not in str(raised.value)


def test_a_fingerprint_tells_keys_apart_and_reveals_none() -> None:
    """Twelve hex digits of a digest that is used for nothing else."""
    first, second = fingerprint(SecretStr("first")), fingerprint(SecretStr("second"))

    assert first == fingerprint(SecretStr("first"))
    assert first != second
    assert len(first) == 12
    assert int(first, 16) >= 0
    assert not hashlib.sha256(b"first").hexdigest().startswith(first)


def test_a_key_in_use_is_not_printed() -> None:
    """Neither by repr nor by str."""
    key = CurrentKey(key_variable("THE_KEY", {"THE_KEY": KEY}))

    assert KEY not in f"{key!r}{key}{key.current!r}{key.current}"


DRAFT = ".key-0123456789abcdef"
"""What a command leaves that is killed while it writes a new key."""


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

    draft = write_draft(tmp_path / "key", b"pk_new\n")

    assert os.getxattr(draft, "system.posix_acl_access") == acl
    assert (draft.stat().st_mode & 0o777, draft.read_bytes()) == (0o640, b"pk_new\n")


def test_an_acl_that_a_folder_gives_to_new_files_lets_nobody_in(tmp_path: Path) -> None:
    """The old file was there before, and has none."""
    (tmp_path / "key").write_text("pk_old")
    (tmp_path / "key").chmod(0o640)
    _set_acl(tmp_path, "default", _access((0x02, 4, 4711)))

    draft = write_draft(tmp_path / "key", b"pk_new\n")

    assert "system.posix_acl_access" not in os.listxattr(draft)
    assert draft.stat().st_mode & 0o777 == 0o640


def test_whoever_reads_the_key_finds_what_was_left(tmp_path: Path) -> None:
    """A key that is in place already is deleted; another one waits, and never replaces one that waits."""
    (tmp_path / "key").write_text("pk_new")
    (tmp_path / DRAFT).write_text("pk_new\n")
    (tmp_path / "link").symlink_to("key")

    assert key_file(tmp_path / "link")() == SecretStr("pk_new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["key", "link"]

    (tmp_path / "key.new").write_text("pk_other\n")
    (tmp_path / DRAFT).write_text("pk_third\n")
    assert key_file(tmp_path / "key")() == SecretStr("pk_new")
    assert (tmp_path / "key.new").read_text() == "pk_other\n"
    assert list(drafts_beside(tmp_path / "key")) == [(tmp_path / DRAFT, b"pk_third")]
