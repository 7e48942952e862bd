"""How a catalog is read whose own words are not ours: which column is which, where its paths lead. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from proofsweep.errors import UsageError

ROLES = ("audio", "sidecar", "id")
"""What a column of a manifest may be; every other one is a tag."""

NO_COLUMN = "none"
"""Stands for the name of a column: no column is the sidecar, or the id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a person says of a manifest; by default, its own names say all.

    Attributes:
        columns: the name of the column of a role, or `none`.
        path_maps: beginnings of locations, each with the folder or prefix that it stands for.
    """

    columns: Mapping[str, str] = field(default_factory=dict, hash=False)
    path_maps: tuple[tuple[str, str], ...] = ()

    @property
    def options(self) -> list[tuple[str, str]]:
        """Return what was said, as options of the command line and their values."""
        columns = [("--column", f"{role}={self.columns[role]}") for role in ROLES if role in self.columns]
        return [*columns, *(("--path-map", f"{written}={folder}") for written, folder in self.path_maps)]

    def over(self, usual: "Reading") -> "Reading":
        """Return this reading, and the usual one where this says nothing."""
        return Reading(
            columns={**usual.columns, **self.columns}, path_maps=tuple(dict.fromkeys(self.path_maps + usual.path_maps))
        )


USUAL_READING = Reading()


def columns_of(written: Iterable[str]) -> dict[str, str]:
    """Read `audio=Dateipfad`, each for one role; UsageError if one names no role or no column, or a role twice."""
    columns: dict[str, str] = {}
    for each in written:
        role, _, name = (part.strip() for part in each.partition("="))
        is_none = role == ROLES[0] and name == NO_COLUMN
        if role not in ROLES or not name or is_none or role in columns:
            raise UsageError(
                f"--column {each!r}: write ROLE=NAME, once for each role: audio, sidecar or id, and the column's name "
                "in the manifest (or none: no column is the sidecar, or the id)."
            )
        columns[role] = name
    return columns


_MAP = re.compile(r"(.*?[^\\/].*?)=(/.*|[A-Za-z][A-Za-z0-9+.-]*://.+)")


def path_maps_of(written: Iterable[str]) -> tuple[tuple[str, str], ...]:
    r"""Read `D:\Musik=/mnt/musik`; UsageError if one does not lead to an absolute path or a bucket URL."""
    maps = []
    for each in written:
        found = _MAP.fullmatch(each)
        if found is None:
            raise UsageError(
                f"--path-map {each!r}: write BEGINNING=FOLDER, as in 'D:\\Musik=/mnt/musik': how the manifest's paths "
                "begin, and the absolute path or bucket URL that this stands for."
            )
        maps.append((found[1], found[2]))
    return tuple(maps)
