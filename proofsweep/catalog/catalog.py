"""What every kind of catalog is: rows to be read again and again, a name and a digest; and a part of one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from proofsweep.catalog.ignored import Ignored
from proofsweep.catalog.row_facts import Place
from proofsweep.files.files import Files
from proofsweep.model.items import ManifestRow


class Catalog(Protocol):
    """A list of audio, streamed.

    Attributes:
        name: stands for the catalog in item IDs, the same on every machine.
        root: the folder or prefix that its files must not lie outside of; None if they may lie anywhere.
        location: absolute, printable.
        kind: `manifest` or `folder`.
        ignored: entries that gave no row; complete after the last row.
        skipped: rows that are left out; complete after the last row.
        reported_run: the run that a completion report is of; None for any other catalog.
    """

    name: str
    root: str | None
    location: str
    kind: str
    ignored: Ignored
    skipped: int
    reported_run: str | None

    def rows(self) -> Iterator[ManifestRow]:
        """Return the rows from the first, at each call; CatalogError if there is none or reading fails."""
        ...

    def tag_names(self) -> list[str]:
        """Return the names of the tags that rows may have; CatalogError if reading fails."""
        ...

    def digest(self) -> str:
        """Return a hex SHA-256 that changes when the catalog does: its manifests' bytes, or its folder's listing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogOptions:
    """What `open_catalog` is told, and the files that it looks at."""

    sidecar_names: Sequence[str]
    root: str | None
    is_confined: bool
    name: str | None
    files: Files = field(default_factory=Files)

    def place(self, folder: str) -> Place:
        """Describe a catalog in a folder."""
        return Place.of(folder, root=self.root, name=self.name, is_confined=self.is_confined)


class CatalogKind(Protocol):
    """A kind of catalog that a location may name: a class with the members of `Catalog`, registered in `KINDS`."""

    @classmethod
    def found_at(cls, path: str, options: CatalogOptions) -> Catalog | None:
        """Open the catalog at an absolute path or a bucket URL; None if this is another kind, or nothing is there."""
        ...


class PartOfCatalog:
    """Some rows of a catalog, which bear its name; by default all of them."""

    def __init__(self, whole: Catalog) -> None:
        """Take the whole catalog."""
        self.name, self.location, self.kind, self.root = whole.name, whole.location, whole.kind, whole.root
        self.ignored, self.skipped, self.reported_run = whole.ignored, 0, whole.reported_run
        self._whole = whole

    def rows(self) -> Iterator[ManifestRow]:
        """Return the rows from the first, at each call; CatalogError if one cannot be read."""
        return self._whole.rows()

    def tag_names(self) -> list[str]:
        """Return the names of the tags of the whole catalog."""
        return self._whole.tag_names()

    def digest(self) -> str:
        """Return the whole catalog's digest: a choice of rows makes no other catalog of it."""
        return self._whole.digest()
