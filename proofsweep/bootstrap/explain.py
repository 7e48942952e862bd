"""Find what the results store knows about a file or a run, for `proofsweep explain`."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.compute as pc

from proofsweep import __version__
from proofsweep.contract import CONTRACT_VERSION
from proofsweep.domain.layout import is_run_id
from proofsweep.domain.occurrences import Occurrence
from proofsweep.domain.operations import Operation
from proofsweep.domain.run_records import RunRecord
from proofsweep.domain.runs import Plan
from proofsweep.domain.support_packet import COLUMNS, SupportPacket, is_trouble
from proofsweep.domain.tables.columns import Row
from proofsweep.errors import CatalogError, ResultsError
from proofsweep.storage.locations import path_of
from proofsweep.storage.results.operations import Operations
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.storage.results.run_index import RunIndex
from proofsweep.usecases.explain.find_call import calls_of, find_call
from proofsweep.usecases.explain.find_item import find_item
from proofsweep.usecases.explain.occurrences import occurrences

# Chosen: the partner's support looks at recent calls. Half may miss a month's; twice reads twice as many small parts.
_CALLS_LOOK_BACK = timedelta(days=35)


def explain_item(results: Results, wanted: str, since: timedelta | None) -> tuple[str, list[Occurrence]]:
    """Give the ID of an item, and what happened to it in each run, the newest first.

    Args:
        results: the store.
        wanted: a location, its end, an item ID or a request ID.
        since: only runs are searched that began so long ago at most; None searches all.

    Raises:
        ResultsError: nothing fits, several items do, or the store cannot be read.
    """
    records = _records(results, since)
    if not records:
        raise ResultsError(f"There is no run in {results.store.url}" + (" that began since." if since else "."))
    plans = [record.plan for record in records]
    unfinished = frozenset(record.plan.run_id for record in records if record.remaining)
    item_id = find_item(results, plans, wanted, _location(wanted))
    return item_id, list(occurrences(results, plans, item_id, unfinished))


def packet_of_item(found: Sequence[Occurrence]) -> str:
    """Write the support packet of all calls that were made for an item."""
    packet = SupportPacket()
    for each in found:
        packet.add(each.plan, each.exchanges)
    return _text(packet)


def packet_of_run(results: Results, run_id: str) -> str:
    """Write the support packet of a run's calls that did not succeed; empty if there are none.

    Raises:
        ResultsError: there is no such run, or a part cannot be read.
    """
    plan, packet = results.plan(run_id), SupportPacket()
    has_trouble = ~pc.field("failure").is_null() | pc.field("status").is_null() | (pc.field("status") >= 300)  # noqa: PLR2004 - not 2xx
    for table in results.tables(results.parts_of("exchanges", plan), COLUMNS):
        packet.add(plan, filter(is_trouble, table.filter(has_trouble).to_pylist()))
    return _text(packet)


def explain_call(results: Results, request_id: str, since: timedelta | None) -> tuple[Operation, Row] | None:
    """Give the call of an operation that has a request ID, and the operation; None if there is none.

    Without a span only the last weeks are searched, since monitoring makes many calls.

    Raises:
        ResultsError: the store cannot be read.
    """
    oldest = datetime.now(UTC) - (since or _CALLS_LOOK_BACK)
    return find_call(Operations(results), request_id, oldest)


def packet_of_call(operation: Operation, call: Row) -> str:
    """Write the support packet of one call."""
    packet = SupportPacket()
    packet.add(operation, [call])
    return _text(packet)


def packet_of_operation(results: Results, operation: Operation) -> str:
    """Write the support packet of an operation's calls that did not succeed; empty if there are none.

    Raises:
        ResultsError: a part cannot be read.
    """
    packet = SupportPacket()
    packet.add(operation, filter(is_trouble, calls_of(Operations(results), operation)))
    return _text(packet)


def is_run(results: Results, wanted: str) -> bool:
    """Say whether a text names a run of the store."""
    try:
        return is_run_id(wanted) and isinstance(results.plan(wanted), Plan)
    except ResultsError:
        return False


def _records(results: Results, since: timedelta | None) -> list[RunRecord]:
    newest = RunIndex(results).refreshed().newest_first()
    if since is None:
        return list(newest)
    oldest = datetime.now(UTC) - since
    return [record for record in newest if datetime.fromisoformat(record.plan.created_at) >= oldest]


def _location(wanted: str) -> str:
    try:
        return path_of(wanted, str(Path.cwd()))
    except CatalogError:
        return wanted


def _text(packet: SupportPacket) -> str:
    return packet.text(CONTRACT_VERSION, f"proofsweep {__version__}")
