"""A local partner service: its own reading of the contract, real cryptography, and faults on demand.

It shares no code with the client that is tested against it, so a mistake in one is not mirrored in the other. To run
one in this very process there is `sandbox.server.serve`, not imported here: the cryptography takes its time to load.
"""

from sandbox.launch import Running, launch
from sandbox.operator_client import Issued, IssueOptions, NewKey, Operator, OperatorError
from sandbox.options import Options
from sandbox.samples import Sample, write_catalog

__all__ = [
    "IssueOptions",
    "Issued",
    "NewKey",
    "Operator",
    "OperatorError",
    "Options",
    "Running",
    "Sample",
    "launch",
    "write_catalog",
]
