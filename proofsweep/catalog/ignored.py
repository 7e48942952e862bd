"""Count the entries of a folder that gave no row, so that no file is left out silently."""

from collections import Counter
from enum import StrEnum


class Cause(StrEnum):
    """Why an entry of a folder became no row."""

    NOT_AUDIO = "not_audio"  # hidden files are among them
    ORPHAN_SIDECARS = "orphan_sidecars"  # no audio beside the sidecar has its name
    UNREADABLE = "unreadable"  # also entries that are neither file nor folder
    OUTSIDE = "outside"  # links out of the catalog's root whose names do not end as audio does
    REPEATED_FOLDERS = "repeated_folders"  # links to folders that are walked elsewhere; each file is a row once


class Ignored(Counter[Cause]):
    """Ignored entries by cause."""

    def __str__(self) -> str:
        return ", ".join(f"{self[cause]} {cause.replace('_', ' ')}" for cause in Cause)
