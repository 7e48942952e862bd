"""The command line for tests, in a process that is killed before it makes the first file below a folder.

Arguments: the folder, then those of the command.
"""

import os
import signal
import sys
from pathlib import Path

from proofsweep_cli.app import run

_LINK = Path.hardlink_to


def link_or_die(self: Path, target: Path) -> None:
    """Make a hard link, by which files are created, if it lies elsewhere."""
    if self.is_relative_to(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    _LINK(self, target)


if __name__ == "__main__":
    Path.hardlink_to = link_or_die  # type: ignore[method-assign, assignment]
    sys.exit(run(sys.argv[2:]))
