"""What a person must see at once, beside the log, which a command mutes: a line on stderr."""

import sys
from contextlib import suppress

from proofsweep.domain.text import printable, without_logins


def say(message: str) -> None:
    """Write one line, without the logins of URLs in it."""
    # A terminal or a pipe that is gone stops no work.
    with suppress(OSError):
        sys.stderr.write(f"proofsweep: {printable(without_logins(message))}\n")
        sys.stderr.flush()
