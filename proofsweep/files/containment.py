"""Keep files of this machine inside a folder: a name may look inside while a link on its way leads out."""

import errno
import os
import posixpath

from proofsweep.errors import SourceError
from proofsweep.files.locations import is_within, one_line
from proofsweep.model.reasons import Reason

# O_PATH needs no permission to read a folder on the way, as following a path needs none; only Linux has it.
_ON_THE_WAY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_IS_LINK = frozenset({errno.ELOOP, errno.ENOTDIR})


def path_inside(location: str, root: str) -> str:
    """Return the path without links that a location leads to, whether a file is there or not.

    Raises SourceError: `outside_catalog` if it does not lie in the folder `root`, whose own path holds no link.
    ValueError: no file can have such a name.
    """
    path = os.path.realpath(location)
    if not is_within(path, root):
        raise outside_catalog(root)
    return path


def open_inside(location: str, root: str, flags: int) -> int:
    """Open what a location leads to, and nothing that lies outside the folder `root`; give the descriptor.

    Each folder on the way is opened by itself and without following links, so a folder or file that somebody replaces
    with a link in this very moment is not followed either. Raises SourceError: `outside_catalog`; or `source_changed`
    if the way changes meanwhile. OSError, ValueError: it cannot be opened.
    """
    path = path_inside(location, root)
    *folders, name = path.strip("/").split("/")
    here = os.open("/", _ON_THE_WAY)
    try:
        for folder in folders:
            above, here = here, os.open(folder, _ON_THE_WAY, dir_fd=here)
            os.close(above)
        return os.open(name or ".", flags | os.O_NOFOLLOW, dir_fd=here)
    except OSError as error:
        if error.errno in _IS_LINK and path_inside(location, root) != path:
            raise SourceError("The path changed while it was opened.", reason=Reason.SOURCE_CHANGED) from error
        raise
    finally:
        os.close(here)


def outside_catalog(root: str) -> SourceError:
    """Return a sentence that something lies outside the catalog's root, and not where it leads."""
    shown = one_line(posixpath.join(root, ""))
    return SourceError(
        f"This leads outside the catalog's root {shown}: if it is meant, give --root or --allow-outside.",
        reason=Reason.OUTSIDE_CATALOG,
    )
