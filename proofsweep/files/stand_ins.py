"""What lies in the place of a file that is elsewhere: a placeholder of a cloud, or a link of git-annex."""

import os
import posixpath
from contextlib import suppress

from proofsweep.config.locations import one_line
from proofsweep.domain.errors import SourceError
from proofsweep.domain.reasons import Reason
from proofsweep.files.folder_listing import placeholders_of

_ANNEXED = "/annex/objects/"  # is part of what a link of git-annex leads to


def refuse_stand_in(location: str) -> None:
    """Raise SourceError if a file that is not there is only away: something in its place says that it is elsewhere."""
    folder, name = posixpath.split(location)
    for placeholder in placeholders_of(name):
        if posixpath.lexists(posixpath.join(folder, placeholder)):
            raise SourceError(words_of_placeholder(placeholder), reason=Reason.STAND_IN)
    with suppress(OSError, ValueError):  # no link, or no name of a file
        if _ANNEXED in os.readlink(location):  # noqa: PTH115 -- of text
            annexed = "Only the link of git-annex lies there, without its content: fetch it by git annex get."
            raise SourceError(annexed, reason=Reason.STAND_IN)


def words_of_placeholder(placeholder: str) -> str:
    """Say that a file is not downloaded."""
    return f"Only its placeholder {one_line(placeholder)} lies there: download the file in the cloud's program."
