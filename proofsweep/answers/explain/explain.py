"""Find what the results store knows about a file, a run or an operation, for `proofsweep explain`."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from proofsweep import __version__
from proofsweep.answers.explain.search import Occurrence, Search, searching
from proofsweep.answers.explain.support_packet import SupportPacket
from proofsweep.contract import CONTRACT_VERSION
from proofsweep.errors import CatalogError, ResultsError
from proofsweep.files.locations import path_of
from proofsweep.model.operations import Operation
from proofsweep.model.runs import Plan, new_run_id
from proofsweep.model.tables.columns import Row
from proofsweep.store.operations import Operations
from proofsweep.store.plans_and_parts import Results

# Chosen: the partner's support looks at recent calls.
_CALLS_LOOK_BACK = timedelta(days=35)


def explain_item(search: Search, wanted: str, since: timedelta | None) -> tuple[str, list[Occurrence]]:
    """Return the ID of an item, and what happened to it in each run that began so long ago at most, the newest first.

    ResultsError if nothing fits, or several items do.
    """
    oldest = "" if since is None else new_run_id(datetime.now(UTC) - since, "")
    item_id = search.item(wanted, _location(wanted), oldest)
    return item_id, list(search.occurrences(item_id, oldest))


def explain_call(search: Search, request_id: str, since: timedelta | None) -> tuple[Operation, Row] | None:
    """Return the call of an operation that has a request ID, and the operation; None if there is none.

    Without a span only the last weeks are searched, since monitoring makes many calls.
    """
    return search.call(request_id, new_run_id(datetime.now(UTC) - (since or _CALLS_LOOK_BACK), ""))


def run_or_operation(results: Results, wanted: str) -> Plan | Operation | None:
    """Return the run or the operation whose ID a text is; None if it is none."""
    try:
        return results.plan(wanted)
    except ResultsError:
        return Operations(results).operation(wanted)


def packet_of_failed_calls(results: Results, named: Plan | Operation) -> str:
    """Write the support packet of the calls of a run or an operation that did not succeed; empty without such."""
    with searching(results) as search:
        run_id = named.run_id if isinstance(named, Plan) else named.operation_id
        return packet_of([(named, search.failed_calls(run_id))])


def packet_of(calls: Iterable[tuple[Plan | Operation, Iterable[Row]]]) -> str:
    """Write the support packet of calls, each with the run or the operation that made them."""
    packet = SupportPacket()
    for named, rows in calls:
        packet.add(named, rows)
    return packet.text(CONTRACT_VERSION, f"proofsweep {__version__}")


def _location(wanted: str) -> str:
    try:
        return path_of(wanted, str(Path.cwd()))
    except CatalogError:
        return wanted
