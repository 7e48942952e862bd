"""The end of the command's process.

After all handlers of exit, Python takes apart what was imported, module by module, for up to half a second in which a
person waits for the prompt. Nothing depends on that: what must be closed is closed before.
"""

import atexit
import os
import sys
from typing import NoReturn

_codes: list[int] = []


def exit_with(code: int) -> NoReturn:
    """Exit as `sys.exit` does, with threads waited for and handlers called, and end after the last handler."""
    _codes.append(code)
    sys.exit(code)


def _end() -> None:
    if _codes:
        os._exit(_codes[-1])


# Handlers are called from the newest to the oldest: the package imports this module before any other.
atexit.register(_end)
