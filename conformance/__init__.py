"""Holding a service against the contract, from outside: every sentence that can be tested is one check.

It reads the wire by itself. It shares no code with the core, whose tolerance would hide what is to be found, nor with
the sandbox, which it examines like any other service.
"""

from conformance.definition import Check, Risk
from conformance.inputs import Inputs
from conformance.replies import NoAnswer, Violation
from conformance.subject import Subject
from conformance.suite import CHECKS, FAILED, NOT_TRIED, PASSED, Result, chosen, most_calls, run
from conformance.wire import Wire

__all__ = [
    "CHECKS",
    "FAILED",
    "NOT_TRIED",
    "PASSED",
    "Check",
    "Inputs",
    "NoAnswer",
    "Result",
    "Risk",
    "Subject",
    "Violation",
    "Wire",
    "chosen",
    "most_calls",
    "run",
]
