"""Redactions, wired."""

from proofsweep.bootstrap.engines import utc_now
from proofsweep.bootstrap.proofs import killed_recoveries
from proofsweep.domain.audit.redaction import Redaction
from proofsweep.errors import RunIsActive
from proofsweep.storage.files.files import Files
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.storage.results.redactions import redaction_lease
from proofsweep.usecases.audit.redact import redact
from proofsweep.usecases.operations.sole_process import sole_process


def redact_item(results: Results, item: str) -> list[Redaction]:
    """Put what killed recoveries noted into the table `recoveries`, then redact an item in all tables.

    Raises:
        RunIsActive: somebody is at work in the store.
        ResultsError: there is no such item, or the store cannot be used.
    """
    with sole_process(redaction_lease(results, utc_now)):
        killed = killed_recoveries(results, Files())
        killed.end_all()
        for operation_id in killed.journals.open():
            raise RunIsActive(
                f"The recovery {operation_id} is at work, or was killed and its sidecars cannot be read now: redact "
                "once it has ended."
            )
        return redact(results, item, utc_now)
