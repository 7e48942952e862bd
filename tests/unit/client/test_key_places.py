"""A new key waits beside its place, and then takes it: in files, and in secret blocks."""

import os
from pathlib import Path

import pytest
from pydantic import SecretStr

from proofsweep.client.key_places import KeyBlockPlace, KeyFilePlace, KeyPlace, SecretBlocks
from proofsweep.errors import ConfigError

OLD, NEW = SecretStr("pk_old"), SecretStr("pk_new")


def _missing(name: str) -> str:
    raise ConfigError(f"There is no block {name}.")


@pytest.fixture(params=["file", "block"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> KeyPlace:
    """A place that holds the old key."""
    if request.param == "file":
        (tmp_path / "key").write_text("pk_old\n")
        return KeyFilePlace.of(tmp_path / "key")
    held = {"key": "pk_old"}
    return KeyBlockPlace(
        "key",
        SecretBlocks(
            read=lambda name: held[name] if name in held else _missing(name),
            write=held.__setitem__,
            delete=lambda name: held.pop(name, None) and None,
        ),
    )


def test_a_key_waits_until_it_is_promoted(place: KeyPlace) -> None:
    """Each step can be repeated."""
    place.check()
    place.keep(NEW)
    place.keep(NEW)
    assert (place.current(), place.waiting()) == (OLD, NEW)

    place.promote()

    assert (place.current(), place.waiting()) == (NEW, None)


def test_a_key_that_waits_can_be_discarded(place: KeyPlace) -> None:
    """One that is not there, too."""
    place.keep(NEW)

    place.discard()
    place.discard()

    assert (place.current(), place.waiting()) == (OLD, None)


def test_a_key_file_is_for_its_owner_only_from_its_first_byte(tmp_path: Path) -> None:
    """Whatever the umask, and whatever mode the old file had."""
    (tmp_path / "key").write_text("pk_old")
    (tmp_path / "key").chmod(0o644)
    before = os.umask(0)
    try:
        place = KeyFilePlace.of(tmp_path / "key")
        place.keep(NEW)
        place.promote()
    finally:
        os.umask(before)

    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


def test_a_check_leaves_nothing_behind(tmp_path: Path) -> None:
    """It writes and deletes a file."""
    KeyFilePlace.of(tmp_path / "key", is_new=True).check()

    assert list(tmp_path.iterdir()) == []


def test_a_key_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its owner could not read the new one, which is for this user only."""
    (tmp_path / "key").write_text("pk_old")
    monkeypatch.setattr(os, "geteuid", lambda: 4711)

    with pytest.raises(ConfigError, match=r"another user.*--new-key-file"):
        KeyFilePlace.of(tmp_path / "key").check()


def test_a_key_file_keeps_its_owner_if_root_replaces_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the service that reads it could not any more."""
    (tmp_path / "key").write_text("pk_old")
    owners: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "chown", lambda _path, uid, gid: owners.append((uid, gid)))

    KeyFilePlace.of(tmp_path / "key").keep(NEW)

    here = (tmp_path / "key").stat()
    assert owners == [(here.st_uid, here.st_gid)]


def test_a_mounted_key_file_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file that is mounted is of another file system than its folder, and a rename onto it fails."""
    (tmp_path / "key").write_text("pk_old")
    elsewhere, real = Path("/dev").stat(), Path.stat
    monkeypatch.setattr(Path, "stat", lambda path, **how: elsewhere if path == tmp_path else real(path, **how))

    with pytest.raises(ConfigError, match="is mounted"):
        KeyFilePlace.of(tmp_path / "key").check()


def test_a_folder_that_is_missing_is_one_line(tmp_path: Path) -> None:
    """The message names the path."""
    with pytest.raises(ConfigError, match=r"missing/key cannot be written \(No such file or directory\)"):
        KeyFilePlace.of(tmp_path / "missing" / "key", is_new=True).check()


def test_a_link_in_a_circle_is_one_line(tmp_path: Path) -> None:
    """It leads nowhere."""
    (tmp_path / "key").symlink_to(tmp_path / "key")

    with pytest.raises(ConfigError, match="key"):
        KeyFilePlace.of(tmp_path / "key").check()


def test_a_new_file_never_replaces_another_one(tmp_path: Path) -> None:
    """Somebody made it while the key was tested."""
    place = KeyFilePlace.of(tmp_path / "key", is_new=True)
    place.keep(NEW)
    (tmp_path / "key").write_text("pk_other")

    with pytest.raises(ConfigError, match=r"exists; the new key is in .*key\.new"):
        place.promote()

    assert (tmp_path / "key").read_text() == "pk_other"


def test_no_place_shows_a_key(place: KeyPlace) -> None:
    """Neither in its names nor in its repr."""
    place.keep(NEW)

    assert "pk_" not in f"{place.name}{place.waiting_name}{place!r}"
