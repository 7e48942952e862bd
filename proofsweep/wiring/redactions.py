"""Redactions, wired."""

from proofsweep.audit.redact import redact
from proofsweep.errors import RunIsActive
from proofsweep.files.files import Files
from proofsweep.model.redaction import Redaction
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.redactions import redaction_lease
from proofsweep.store.sole_process import sole_process
from proofsweep.wiring.engines import utc_now
from proofsweep.wiring.proofs import killed_recoveries


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
