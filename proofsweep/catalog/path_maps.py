r"""Paths of another machine, such as `D:\Musik\song.wav`, as this machine sees them."""

import posixpath
from collections.abc import Callable, Sequence

from proofsweep.files.locations import is_bucket, one_line
from proofsweep.files.names import caseless

# Rows whose files are looked for below the root before no more is guessed about the paths of one drive.
_GUESSES = 20


class PathMaps:
    """Beginnings of written locations, and the folders that they stand for; the longest beginning counts."""

    def __init__(self, maps: Sequence[tuple[str, str]]) -> None:
        """Compare beginnings part by part without regard to case, to the form of Unicode and to the slash."""
        cut = ((caseless(_forward(written).rstrip("/")).split("/"), folder) for written, folder in maps)
        self._maps = sorted(cut, key=lambda each: -len(each[0]))

    def mapped(self, written: str) -> str:
        """Return where a written location leads; as it is if no beginning fits."""
        if not self._maps:
            return written
        parts = (written if written.startswith("/") else _forward(written)).split(
            "/"
        )  # POSIX names may have backslashes
        for beginning, folder in self._maps:
            if [*map(caseless, parts[: len(beginning)])] == beginning:
                rest = "/".join(parts[len(beginning) :]).lstrip("/")
                return posixpath.join(folder, rest) if rest else folder
        return written


class MapHints:
    """Says which map would help, by looking for the files below the catalog's root."""

    def __init__(self, root: str, is_there: Callable[[str], object] = posixpath.isfile) -> None:
        self._is_there = is_there
        self._root = root
        self._found: dict[str, str] = {}
        self._tried: dict[str, int] = {}

    def hint(self, written: str) -> str:
        """Return what a row with a path of Windows needs, in brackets."""
        parts = _forward(written).split("/")
        head = 4 if written.startswith("\\\\") else 1  # a server and its share, or a drive
        drive = _backward(parts[:head])
        if drive not in self._found and self._tried.get(drive, 0) < _GUESSES and not is_bucket(self._root):
            self._tried[drive] = self._tried.get(drive, 0) + 1
            below = (at for at in range(head, len(parts)) if self._is_there(posixpath.join(self._root, *parts[at:])))
            if (at := next(below, None)) is not None:
                self._found[drive] = f"{_backward(parts[:at])}={self._root}"
        given = self._found.get(drive) or f"{_backward(parts[: min(head + 1, len(parts) - 1)])}=FOLDER"
        return f" (this looks like a Windows path: give --path-map '{one_line(given)}')"


def _backward(parts: Sequence[str]) -> str:
    return "\\".join(parts)


def _forward(written: str) -> str:
    return written.replace("\\", "/")
