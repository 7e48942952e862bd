"""Files that a process keeps locked until it ends, whatever ends it: who finds one unlocked knows that it is gone.

The kernel keeps the locks, so they tell processes of all containers of one machine of each other. A network or a user's
file system may lose a lock, or keep it where others do not see it: there no file is held.
"""

import fcntl
from contextlib import suppress
from pathlib import Path
from typing import IO

_LOCAL = frozenset({"btrfs", "ext2", "ext3", "ext4", "overlay", "tmpfs", "xfs", "zfs"})
"""File systems whose locks are the kernel's own."""

_held: dict[Path, IO[bytes]] = {}
"""A lock is the process's, whichever object asked for it."""


def hold(path: Path) -> bool:
    """Keep a file locked; False if it cannot be, or if another process holds it."""
    if path in _held:
        return True
    if not is_local(path):
        return False
    with suppress(OSError):
        file = path.open("rb")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return False
        _held[path] = file
        return True
    return False


def let_go(path: Path) -> None:
    """Unlock a file that this process holds, if it does."""
    if (file := _held.pop(path, None)) is not None:
        file.close()


def is_let_go(path: Path) -> bool:
    """Whether no process holds a file; False if that is not known."""
    if path in _held or not is_local(path):
        return False
    with suppress(OSError), path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return True
    return False


def is_local(path: Path) -> bool:
    """Whether a path lies in a file system of this machine, as the kernel lists it; False where it has no such list."""
    best, kind = -1, ""
    with suppress(OSError):
        real = str(path.parent.resolve())
        for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            facts, _, described = line.partition(" - ")
            mounted = facts.split()[4].replace("\\040", " ")
            if real == mounted or real.startswith(mounted.rstrip("/") + "/"):
                best, kind = max((best, kind), (len(mounted), described.split()[0]), key=lambda found: found[0])
    return kind in _LOCAL
