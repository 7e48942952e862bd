"""Deliberate breaks of the core, each with a world that finds it: so it is known what the worlds see.

A break replaces one text of one module before it is executed. A text that is not there exactly once is an error, so the
list follows the code. Where worlds change, other seeds find a break: `python tests/world/breaks.py NAME ...` looks for
them anew, and writes them into this list.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType

_PLAY = Path(__file__).with_name("play.py")
_MOST_SEEDS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    name: str  # what it breaks
    module: str
    old: str
    new: str
    level: str
    seed: int  # the first world of the level that finds it
    check: str  # that finds it there


class BrokenLoader(SourceFileLoader):
    def __init__(self, broken: Break, path: str) -> None:
        super().__init__(broken.module, path)
        self._broken = broken

    def get_code(self, fullname: str) -> CodeType:
        source, broken = self.get_source(fullname) or "", self._broken
        if source.count(broken.old) != 1:
            raise SystemExit(f"{broken.name}: its text stands {source.count(broken.old)} times in {broken.module}")
        return compile(source.replace(broken.old, broken.new), self.path, "exec")


@dataclass(slots=True)
class BreakingFinder:
    """Finds the one module that is broken, before all other finders."""

    broken: Break
    has_broken: bool = False

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        if name != self.broken.module:
            return None
        spec = PathFinder.find_spec(name, path)
        assert spec is not None
        assert spec.origin is not None
        spec.loader, self.has_broken = BrokenLoader(self.broken, spec.origin), True
        return spec

    def require_broken(self) -> None:
        if not self.has_broken:
            raise SystemExit(f"{self.broken.name}: no world has loaded {self.broken.module}")


def apply(broken: Break) -> BreakingFinder:
    """Let the core be loaded with a break."""
    finder = BreakingFinder(broken)
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]  # it has all that the import asks for
    return finder


BREAKS: Sequence[Break] = ()


def break_of(name: str) -> Break:
    return next(each for each in BREAKS if each.name == name)
