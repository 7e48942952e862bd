"""Allocators that give memory back: a run of a night has more than a hundred threads, and works for hours."""

import ctypes
import os
import sys

# By default glibc has eight for each core, and what threads free stays in them: 50 MB more after 20,000 files on two
# cores. Chosen: with one, each thread that allocates waits for all others.
_MOST_ARENAS = 2

_M_ARENA_MAX = -8
"""The number of this option of `mallopt` in glibc's malloc.h."""


def keep_memory_small() -> None:
    """Choose allocators for this process; Arrow reads the choice only when it is imported, so this comes first.

    Arrow's own allocator keeps a hundred megabytes for the few that tables need at once. A person's own choice, in the
    variables ARROW_DEFAULT_MEMORY_POOL and MALLOC_ARENA_MAX, stays.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    if "MALLOC_ARENA_MAX" not in os.environ:
        _call_glibc("mallopt", _M_ARENA_MAX, _MOST_ARENAS)


def give_memory_back() -> None:
    """Return the free pages between those in use to the system, some 30 MB; it takes some milliseconds."""
    _call_glibc("malloc_trim", 0)


def _call_glibc(name: str, *numbers: int) -> None:
    """Call one of glibc's own functions; other systems and libraries have none, and need none."""
    function = getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
    if function is not None:
        function(*numbers)
