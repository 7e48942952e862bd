"""The exit codes of the command, and the error that ends it with one of them. Pure."""

from enum import IntEnum


class Code(IntEnum):
    """How a run ended; those that proofsweep has too mean the same there."""

    PASSED = 0
    USAGE = 2
    FAILED = 3
    UNANSWERED = 4
    STOPPED = 6
    KEY_REFUSED = 7
    UNREACHABLE = 8
    NOT_TRIED = 10


class Stop(Exception):
    """The command cannot go on: one line for the person, and the exit code."""

    def __init__(self, message: str, code: Code = Code.USAGE) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
