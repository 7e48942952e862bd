"""What a person must see at once, beside the log, which a command mutes: a line on stderr."""

import sys
from contextlib import suppress

from proofsweep.domain.text import printable


def say(message: str) -> None:
    """Write one line; a terminal or a pipe that is gone stops no work."""
    with suppress(OSError):
        sys.stderr.write(f"proofsweep: {printable(message)}\n")
        sys.stderr.flush()
