"""The conformance suite: tests a service against the contract, from outside. Each testable sentence is one check.

It has its own strict reader of the wire. It shares no code with the core, which tolerates what the suite must find, and
none with the sandbox, which is only one more service under test.

To add a check, write a function in the module of its subject in `checks/`, and name it beside its sentence in
`sentences.txt`, which also says why a sentence cannot be tested.
"""

from partner_conformance.definition import Risk
from partner_conformance.inputs import Inputs
from partner_conformance.results import ADVICE, FAILED, NOT_TRIED, PASSED, Result
from partner_conformance.subject import Subject
from partner_conformance.suite import CHECKS, chosen, run
from partner_conformance.wire import Wire

__all__ = [
    "ADVICE",
    "CHECKS",
    "FAILED",
    "NOT_TRIED",
    "PASSED",
    "Inputs",
    "Result",
    "Risk",
    "Subject",
    "Wire",
    "chosen",
    "run",
]
