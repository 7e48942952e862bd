"""What is known of a watched folder, from which passes move the files: there, an empty folder is a quiet day."""

from proofsweep.config.locations import resolved_location
from proofsweep.config.threads import utc_now
from proofsweep.files.presence import away_since
from proofsweep.store import layout
from proofsweep.store.lease import Lease
from proofsweep.store.parts import Results


def is_emptied(results: Results, environment: str, location: str) -> bool:
    """Whether a folder that holds no audio is one that passes watch and empty, and its share is not away.

    ResultsError if that cannot be known.
    """
    store = results.store.below(layout.INGEST_FOLDER)
    watch_id = layout.watch_id(environment, resolved_location(location))
    lease = Lease(store, watch_id, "It is watched", utc_now)
    if lease.last() == 0:
        return False
    # The empty folder below a mount point is none that passes have emptied.
    return away_since(location, mount_before(lease, location)) is None


def mount_before(lease: Lease, location: str) -> str:
    """Return the mount point above a location, as the last process that watched the folder found it; empty if none."""
    holder = lease.holder(lease.last())
    mounts = None if holder is None else holder.facts.get("mounts")
    return str(mounts.get(resolved_location(location), "")) if isinstance(mounts, dict) else ""


def mounts_below_before(lease: Lease) -> list[str]:
    """Return where shares were mounted below the watched folder and its targets, as that process found them."""
    holder = lease.holder(lease.last())
    points = None if holder is None else holder.facts.get("mounts_below")
    if not isinstance(points, list):
        return []
    return [str(point) for point in points]
