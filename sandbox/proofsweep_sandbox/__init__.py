"""A local partner service with its own reading of the contract, real cryptography and faults on demand.

It shares no code with the client under test, so both cannot make the same mistake. `server.serve` runs it in
this process; it is not imported here, because the cryptography is slow to load.

Where to add what: a fault in `faults.py`, a request of the operator in `operator_api.py` and `operator_client.py`, a
kind of sample in `samples/kinds.py`.
"""

from proofsweep_sandbox.launch import Running, launch
from proofsweep_sandbox.operator_client import Issued, IssueOptions, NewKey, Operator, OperatorError
from proofsweep_sandbox.options import Options
from proofsweep_sandbox.samples.catalog import Sample, write_catalog

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
