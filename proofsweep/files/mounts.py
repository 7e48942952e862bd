"""Where disks and shares are mounted, so that one that went away is noticed."""

import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from proofsweep.config.locations import is_within
from proofsweep.files.files import kind_of
from proofsweep.files.local_files import Awaited

_OCTAL = re.compile(rb"\\([0-7]{3})")  # as Linux writes blanks in the names of mount points


def mount_of(location: str) -> str:
    """Return the mount point above a location, which may not be there yet; empty for a bucket."""
    if not kind_of(location).is_on_this_machine:
        return ""
    with Awaited(location):
        path = os.path.realpath(location)
        while path and not posixpath.ismount(path):
            path = posixpath.dirname(path)
    return path


def hanging_place(location: str) -> str:
    """Return the mount in which a read hangs, by the system's list alone; the file's folder if that is the system's."""
    folder = posixpath.dirname(location)
    mount = "/"
    for point in _listed_mounts():
        if len(point) > len(mount) and is_within(folder, point):
            mount = point
    return folder if mount == "/" else mount


def mounts_below(folder: str) -> list[str]:
    """Return the mount points below a folder of this machine, without links in their paths; none if it is a bucket.

    Only Linux lists them.
    """
    if not kind_of(folder).is_on_this_machine:
        return []
    real = os.path.realpath(folder)
    return [point for point in _listed_mounts() if point != real and is_within(point, real)]


def _listed_mounts() -> list[str]:
    try:
        listed = Path("/proc/self/mountinfo").read_bytes()
    except OSError:
        return []
    points: list[str] = []
    for line in listed.splitlines():
        written = line.split()[4]
        points.append(os.fsdecode(_OCTAL.sub(lambda match: bytes([int(match[1], 8)]), written)))
    return points


@dataclass(frozen=True, slots=True)
class Mounts:
    """Where disks were mounted above some places, and below them, at one moment."""

    of_places: Mapping[str, str] = field(default_factory=dict)  # the mount point above each
    below: Sequence[str] = ()  # the mount points below them, such as a supplier's own

    @classmethod
    def now(cls, places: Sequence[str]) -> Self:
        below: list[str] = []
        for place in places:
            below += mounts_below(place)
        return cls({place: mount_of(place) for place in places}, below)

    def is_changed(self, place: str) -> bool:
        """Whether another disk lies at a place than at that moment, or one that lay below any of them is away."""
        before = self.of_places.get(place)
        if before is not None and mount_of(place) != before:
            return True
        return not all(map(posixpath.ismount, self.below))
