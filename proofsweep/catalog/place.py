"""Where a catalog lies, what may be read for it, and by which names its files are known on every machine."""

import os
import posixpath
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache

from proofsweep.files.locations import path_within, resolved_location
from proofsweep.model.items import printable

# chosen: folders whose path without links is remembered; at half, rows that jump between folders are resolved more
# often, and twice only takes more memory.
_FOLDERS_KEPT = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The folder or prefix of a catalog, and the root by which its files are named.

    Attributes:
        folder: absolute, as it was written; relative locations begin here.
        root: the folder or prefix to which names are relative, without links in its path.
        is_confined: whether the catalog may name only what lies in the root.
        name: stands for the catalog in item IDs.
    """

    folder: str
    root: str
    is_confined: bool
    name: str
    _real_folder: Callable[[str], str] = field(
        default_factory=lambda: lru_cache(_FOLDERS_KEPT)(os.path.realpath), compare=False
    )

    @classmethod
    def of(
        cls,
        folder: str,
        *,
        root: str | None = None,
        name: str | None = None,
        is_confined: bool = True,
    ) -> "Place":
        """Describe the catalog of a folder; by default that is the root, and the root's last part the name."""
        resolved = resolved_location(folder if root is None else root)
        return cls(
            folder=folder,
            root=resolved,
            is_confined=is_confined,
            name=printable(name or posixpath.basename(resolved) or resolved),
        )

    @property
    def boundary(self) -> str | None:
        """The root, if the catalog's files must lie in it."""
        return self.root if self.is_confined else None

    def named(self, location: str | None) -> str:
        """Name a file relative to the root; absolute if it lies outside it."""
        if not location or not location.startswith("/"):  # a URL
            return path_within(location or "", self.root)
        base = posixpath.join(self.folder, "")
        if location.startswith(base):  # a link in the catalog keeps its own name, however the catalog was spelled
            name = self._relative(posixpath.join(self._real(self.folder), location[len(base) :]))
            if not name.startswith("/"):
                return name
        folder, name = posixpath.split(location)
        return self._relative(posixpath.join(self._real(folder), name))

    def _relative(self, path: str) -> str:
        return path_within(posixpath.normpath(path), self.root)

    def _real(self, folder: str) -> str:
        with suppress(ValueError):  # no folder can have such a name
            return self._real_folder(folder)
        return folder
