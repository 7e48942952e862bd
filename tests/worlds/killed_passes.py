"""One verified pair that is moved, by passes that are killed after any line, in a folder or in a bucket."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .core import MOVING, Results, Row, move_accepted_pair
from .killed_lines import LINES_BETWEEN_KILLS, is_whole_after

AUDIO, PROOF, OTHER = b"audio", b"proof", b"another file"
PAIR = {"a.wav": AUDIO, "a.sidecar": PROOF}


class Site(Protocol):
    """Where files are: below `in` they are delivered, and below `ok` they are moved."""

    root: str

    def put(self, name: str, content: bytes) -> None: ...

    def delete(self, name: str) -> None: ...

    def below(self, folder: str) -> dict[str, bytes]:
        """Return all files below a folder, hidden ones too, by their names in it."""


@dataclass(frozen=True)
class LocalSite:
    """A folder of this machine."""

    folder: Path

    @property
    def root(self) -> str:
        return str(self.folder)

    def put(self, name: str, content: bytes) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(content)

    def delete(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    def below(self, folder: str) -> dict[str, bytes]:
        top = self.folder / folder
        return {str(path.relative_to(top)): path.read_bytes() for path in top.rglob("*") if path.is_file()}


@dataclass
class KilledMove:
    """A delivered pair that is accepted, and passes that move it."""

    site: Site
    results: Results
    files: tuple[str, ...] = MOVING  # after whose lines a pass is killed
    functions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, content in PAIR.items():
            self.site.put(f"in/{name}", content)

    @property
    def rows(self) -> list[Row]:
        """The rows of the table `ingest`."""
        found: list[Row] = self.results.table("ingest", self.results.all_parts("ingest")).to_pylist()
        return found

    def make_pass(self, lines: int) -> bool:
        """Make a pass that is killed after so many lines; say whether it came to its end before."""
        return is_whole_after(lines, self.files, self.make_next_pass, self.functions)

    def make_next_pass(self) -> None:
        move_accepted_pair(
            self.results, self.site.root, AUDIO, PROOF, lambda: self.site.below("in").get("a.wav") == AUDIO
        )


def nothing(_site: Site) -> None:
    """Leave everything as it is."""


def deliver_anew(site: Site) -> None:
    """Deliver another audio under the same name."""
    site.put("in/a.wav", OTHER)


def take_back(site: Site) -> None:
    """Take the delivered audio away."""
    site.delete("in/a.wav")


def take_name(site: Site) -> None:
    """Give the audio's name at the target to another file, if it is free."""
    if "a.wav" not in site.below("ok"):
        site.put("ok/a.wav", OTHER)


def check_every_line(make: Callable[[int], KilledMove], meanwhile: Callable[[Site], None]) -> int:
    """Kill a pass after each line, or each seventh, and make another after something happened.

    The pair is moved or not.

    Returns:
        the lines of a whole pass.
    """
    line, was_whole = 0, False
    while not was_whole:
        pair = make(line)
        was_whole = pair.make_pass(line)
        meanwhile(pair.site)
        pair.make_next_pass()
        left, placed = pair.site.below("in"), pair.site.below("ok")
        if meanwhile is nothing:
            assert (left, placed) == ({}, PAIR), line
        if meanwhile is take_name and placed.get("a.wav") == OTHER:
            del placed["a.wav"]
            placed = {name.rpartition("/")[2]: content for name, content in placed.items() if "/" in name}
            assert len(placed) == len(pair.site.below("ok")) - 1, line
        assert placed in ({}, PAIR), (line, placed)
        assert "a.sidecar" not in left or (left["a.sidecar"], placed) == (PROOF, {}), (line, left)
        assert set(left) <= set(PAIR), line
        assert len(pair.rows) == (1 if placed else 0) or (not placed and pair.rows[0]["disposition"] == "gone"), line
        line += LINES_BETWEEN_KILLS
    return line
