"""A store that several users of a machine work with: what one of them writes shuts out no other."""

import gzip
import os
import stat
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from proofsweep.store.layout import CHECKPOINT_NAME
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results

from ...worlds.ended_nights import ACCEPTED, MONDAY, TUESDAY, night

OWNER, OTHER, GROUP = 60_001, 60_002, 60_010
OBJECTS = "verdicts/run_date=2026-11-16/*.parquet"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be several users")


def as_user(uid: int, act: Callable[[], object], *, umask: int = 0o022) -> None:
    """Act in a process of a user, who is a member of the group."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.umask(umask)
            os.setgroups([GROUP])
            os.setegid(uid)
            os.seteuid(uid)
            act()
            code = 0
        except BaseException:  # noqa: BLE001 - this process ends here, and pytest goes on in the other
            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    """A store by a relative path: users cannot come through the folders above it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fsync", lambda _file: None)
    tmp_path.chmod(0o777)
    begun = Results(FolderStore(Path("begun")))  # loads what other users may not be able to
    night(begun, MONDAY, {"a": ACCEPTED})
    begun.log.keep()
    list(begun.tables(begun.all_parts("verdicts")))
    return Results(FolderStore(Path("results")))


def rights() -> dict[Path, tuple[int, int, int]]:
    """Return the owner, mode and time of each file and folder of the store."""
    facts = {path: path.stat() for path in Path("results").rglob("*")}
    return {path: (each.st_uid, each.st_mode, each.st_mtime_ns) for path, each in facts.items()}


def test_who_only_reads_leaves_nothing_in_the_store_of_another_user(shared: Results) -> None:
    """Neither root nor anybody else, with or without a checkpoint that must be made anew; the answer is the same."""
    as_user(OWNER, lambda: night(shared, MONDAY, {"a": ACCEPTED}))
    before = rights()
    for umask in (0o022, 0o077):
        as_user(0, Results(shared.store).log.keep, umask=umask)
    as_user(OTHER, Results(shared.store).log.keep)
    assert rights() == before

    as_user(OWNER, Results(shared.store).log.keep)
    assert Path("results", CHECKPOINT_NAME).stat().st_uid == OWNER


def test_what_root_writes_is_the_owners(shared: Results) -> None:
    """A run that root began is read, and gone on with, by the user whose store it is."""
    as_user(OWNER, lambda: night(shared, MONDAY, {"a": ACCEPTED}))

    as_user(0, lambda: night(shared, TUESDAY, {"a": ACCEPTED}), umask=0o077)

    assert {uid for uid, _, _ in rights().values()} == {OWNER}
    as_user(OWNER, lambda: next(iter(shared.tables(shared.all_parts("verdicts")))))
    as_user(OWNER, Results(shared.store).log.keep)


def test_a_checkpoint_that_cannot_be_read_is_made_anew(shared: Results) -> None:
    """Whoever left it there."""
    as_user(OWNER, lambda: night(shared, MONDAY, {"a": ACCEPTED}))
    as_user(OWNER, Results(shared.store).log.keep)
    os.chown(Path("results", CHECKPOINT_NAME), 0, 0)
    Path("results", CHECKPOINT_NAME).chmod(0o600)

    as_user(OWNER, Results(shared.store).log.keep)

    gzip.decompress(Path("results", CHECKPOINT_NAME).read_bytes())
    assert Path("results", CHECKPOINT_NAME).stat().st_uid == OWNER


def test_a_store_of_a_group_stays_one_for_each_member(shared: Results) -> None:
    """Whatever their umask keeps: each reads and replaces what the others wrote. Strangers gain nothing."""
    Path("results").mkdir()
    os.chown("results", OWNER, GROUP)
    Path("results").chmod(0o770)

    as_user(OWNER, lambda: night(shared, MONDAY, {"a": ACCEPTED}), umask=0o077)
    as_user(OTHER, lambda: night(shared, TUESDAY, {"a": ACCEPTED}), umask=0o077)
    for user in (OWNER, OTHER):
        as_user(user, Results(shared.store).log.keep, umask=0o077)
        as_user(user, lambda: list(shared.tables(shared.all_parts("verdicts"))))

    found = {path.stat() for path in Path("results").rglob("*")}
    assert {facts.st_gid for facts in found} == {GROUP}
    assert {stat.S_IMODE(facts.st_mode) for facts in found} == {0o660, 0o770}
