"""How a catalog is read whose own words are not ours: which column is which. Pure."""

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
    """

    columns: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def options(self) -> list[tuple[str, str]]:
        """Return what was said, as options of the command line and their values."""
        return [("--column", f"{role}={self.columns[role]}") for role in ROLES if role in self.columns]

    def over(self, usual: "Reading") -> "Reading":
        """Return this reading, and the usual one where this says nothing."""
        return Reading(columns={**usual.columns, **self.columns})


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
