"""`proofsweep explain`: everything that is known about one file, and what to send to the partner's support."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial

import typer

from proofsweep.domain.errors import ResultsError, UsageError
from proofsweep.domain.runs import Plan, duration_of, new_run_id
from proofsweep.domain.text import printable
from proofsweep.queries.search import LikelyItems, Search, searching
from proofsweep.reports.explain import (
    explain_call,
    json_of_item,
    json_of_likely,
    json_of_proof,
    lines_of,
    lines_of_likely,
    lines_of_proof,
    packet_of,
    packet_of_failed_calls,
    run_or_operation,
)
from proofsweep_cli.command import open_app
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.options import AsJson, Config, ResultsUrl
from proofsweep_cli.screen import console, next_command, print_json

_What = typer.Argument(
    metavar="WHAT",
    help="A file's location, its end or a part of its name; its title, ISRC or another value of a tag; an item_id, "
    "a request ID, a proof ID; or the ID of a run or operation, for its calls that did not succeed.",
)
_Since = typer.Option(None, "--since", metavar="SPAN", help="Search only runs begun since, like 30d; all by default.")
_Packet = typer.Option(False, "--packet", help="Print only what the partner's support needs, to paste into a ticket.")


def explain(
    what: str = _What,
    *,
    since: str | None = _Since,
    packet: bool = _Packet,
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """Show every call that was made for one file over all runs, its verdicts, and what to do.

    The last lines are a packet for the partner's support: times, endpoints and request IDs. It names no file and holds
    no secret.

    Codes and titles are found without regard to case, spaces and hyphens. If several files fit, they are listed, each
    with the command that explains it; the exit code is then 2.

    Examples: `proofsweep explain song.wav` · `proofsweep explain QZ-NUL-26-00017`
    """
    store = open_app(config, results).results
    if (named := run_or_operation(store, what)) is not None:
        kind = "run" if isinstance(named, Plan) else "operation"
        return _explain_whole(kind, what, packet_of_failed_calls(store, named), as_json=as_json)
    oldest = "" if since is None else new_run_id(datetime.now(UTC) - duration_of(since), "")
    with searching(store, oldest) as search:
        likely = search.likely(what)
        if likely.items > 1:
            _print_likely(likely, partial(next_command, config=config, results=results), as_json=as_json)
            listed = "" if likely.items == len(likely.rows) else f"; the first {len(likely.rows)} are listed"
            raise UsageError(f"{likely.items:,} items fit {printable(what)!r}{listed}. Explain one by its item_id.")
        return _explain_part(search, what, likely, packet=packet, as_json=as_json)


def _explain_whole(kind: str, its_id: str, text: str, *, as_json: bool) -> int:
    if as_json:
        print_json({f"{kind}_id": its_id, "support_packet": text})
    elif text:
        _print_packet(text, alone=True)
    else:
        _print_lines([f"Every call of {kind} {its_id} succeeded; there is nothing to look up."])
    return ExitCode.ACCEPTED


def _explain_part(search: Search, what: str, likely: LikelyItems, *, packet: bool, as_json: bool) -> int:
    try:
        item_id = likely.only or search.item(what)
    except ResultsError:
        if _explain_call(search, what, as_json=as_json) or _explain_proof(search, what, as_json=as_json):
            return ExitCode.ACCEPTED
        raise
    found = list(search.occurrences(item_id))
    text, erasures = packet_of((each.plan, each.exchanges) for each in found), search.erasures(item_id)
    if as_json:
        print_json(json_of_item(item_id, found, erasures) | {"support_packet": text})
        return ExitCode.ACCEPTED
    if not packet:
        _print_lines(lines_of(item_id, found, erasures))
    _print_packet(text, alone=packet)
    return ExitCode.ACCEPTED


def _print_likely(likely: LikelyItems, command: Callable[..., str], *, as_json: bool) -> None:
    if as_json:
        print_json(json_of_likely(likely))
        return
    for line, item_id in lines_of_likely(likely):
        _print_lines([line, f"  {command('explain', item_id)}"])


def _explain_call(search: Search, request_id: str, *, as_json: bool) -> bool:
    """Explain a call that an operation made; say whether there is one."""
    found = explain_call(search, request_id)
    if found is None:
        return False
    operation, call = found
    text = packet_of([(operation, [call])])
    if as_json:
        print_json({"operation_id": operation.operation_id, "kind": operation.kind, "support_packet": text})
    else:
        _print_lines([f"A call of operation {operation.operation_id} ({operation.kind}), which belongs to no file."])
        _print_packet(text, alone=True)
    return True


def _explain_proof(search: Search, proof_id: str, *, as_json: bool) -> bool:
    """Explain a proof by the rows that name it; say whether there is one."""
    found = search.proof(proof_id)
    if as_json and found:
        print_json(json_of_proof(proof_id, found))
    elif found:
        _print_lines(lines_of_proof(proof_id, found))
    return bool(found)


def _print_lines(lines: Iterable[str]) -> None:
    out = console()
    for line in lines:
        out.line(line)


def _print_packet(text: str, *, alone: bool) -> None:
    if not alone:
        for line in ("", "For the partner's support (--packet prints only this):", ""):
            console().line(line, style="bold")
    _print_lines(text.splitlines())
