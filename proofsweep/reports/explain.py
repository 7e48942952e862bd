"""What the results store knows about a file, a run or an operation, and what the partner's support needs of it."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urlsplit

from proofsweep import __version__
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.headers import CONTRACT_VERSION
from proofsweep.domain.items import Row
from proofsweep.domain.operations import Operation
from proofsweep.domain.reasons import advice_for_outcome
from proofsweep.domain.runs import Plan
from proofsweep.domain.text import counted, minute_of, printable
from proofsweep.domain.verdicts import Verdict
from proofsweep.queries.search import LikelyItems, Occurrence, searching
from proofsweep.store.operations import operation_of
from proofsweep.store.parts import Results

_LIKELY = ("item_id", "file", "outcome", "verdict", "reason", "tags")
_MOST_CALLS = 10  # of a kind that are named
_FAILURES = {"timeout": "no answer in time", "connection": "connection broken", "bad_answer": "unusable answer"}

ENDPOINTS: Mapping[str, str] = {
    Call.HEALTH: "GET /health",
    Call.KEYS: "GET /partner/keys",
    Call.ROTATE: "POST /partner/keys/rotate",
    Call.USAGE: "GET /partner/usage",
    Call.PROOFS: "GET /proofs",
    Call.PROOF: "GET /proofs/{proofId}",
    Call.ERASE: "DELETE /proofs/{proofId}",
    Call.ASSET: "GET /proofs/{proofId}/asset",
    Call.INTERPRETATION: "GET /proofs/{proofId}/interpretation",
    Call.UPLOADS: "POST /uploads",
    Call.VERIFY: "POST /verify",
    Call.SLOT: "form POST to the upload slot",
    Call.DOWNLOAD: "GET of an asset's URL",
}
"""The contract's name of each call (Endpoints)."""


def run_or_operation(results: Results, wanted: str) -> Plan | Operation | None:
    try:
        return results.plan(wanted)
    except ResultsError:
        return operation_of(results.store, wanted)


def lines_of(item_id: str, found: Sequence[Occurrence], erasures: Sequence[Row] = ()) -> Iterator[str]:
    """Write all that is known about an item, the newest first; text that others wrote is as they wrote it."""
    newest = next((each.row for each in found if each.row is not None), None)
    yield str(newest["audio"]) if newest is not None else item_id
    yield f"  item {item_id}, in {counted(len(found), 'run')}"
    if newest is not None:
        yield f"  newest: {_result_of(newest)}"
        yield f"  what to do: {_advice_for(newest, erasures)}"
    if not found:
        yield "  listed by its catalog; no run has tried it yet"
    yield from (f"  {_line_of_erasure(row)}" for row in erasures)
    for each in found:
        yield ""
        yield from _lines_of_run(each)


def lines_of_likely(found: LikelyItems) -> Iterator[tuple[str, str]]:
    for row in found.rows:
        tags = json.loads(str(row["tags"] or "{}")).items()
        known = "".join(f"  {name}: {value}" for name, value in tags)
        yield f"{_words_of_outcome(row)}  {row['file']}{known}", str(row["item_id"])


def json_of_likely(found: LikelyItems) -> dict[str, object]:
    rows = [row | {"tags": json.loads(str(row["tags"] or "{}"))} for row in found.rows]
    return {"items": found.items, "first": [{name: row[name] for name in _LIKELY} for row in rows]}


def json_of_item(item_id: str, found: Sequence[Occurrence], erasures: Sequence[Row] = ()) -> dict[str, object]:
    return {
        "item_id": item_id,
        "erasures": list(erasures),
        "runs": [
            {
                "run_id": each.plan.run_id,
                "environment": each.plan.environment,
                "catalog": each.plan.catalog,
                "manifest_row": each.manifest_row,
                "manifest_line": each.line,
                "verdict_row": each.row,
                "what_to_do": None if each.row is None else _advice_for(each.row, erasures),
                "exchanges": each.exchanges,
            }
            for each in found
        ],
    }


def _lines_of_run(each: Occurrence) -> Iterator[str]:
    result = "remains: no outcome yet" if each.row is None else _result_of(each.row)
    line = "" if each.line is None else f", {each.line}"
    yield f"run {each.plan.run_id} ({each.plan.environment}){line}: {result}"
    if each.row is not None and each.row["detail"] is not None:
        yield f"  {each.row['detail']}"
    if each.row is not None and each.row["answered_by_row"] is not None:
        yield f"  The answer is that of {each.answered_by or 'another row'}, which has the same bytes; its calls:"
    if each.row is not None and each.row["answered_by_run"] is not None:
        yield f"  The answer is that of the run {each.row['answered_by_run']}: the file has the same bytes"
    if not each.exchanges:
        yield "  no call was made"
    yield from (f"  {_line_of_call(call)}" for call in each.exchanges)


def _result_of(row: Row) -> str:
    finished = row["finished_at"]
    return _words_of_outcome(row) + (f", {minute_of(finished)}" if isinstance(finished, datetime) else "")


def _advice_for(row: Row, erasures: Sequence[Row]) -> str:
    if row["verdict"] == Verdict.UNREGISTERED and any(_is_before(erasure, row) for erasure in erasures):
        return "nothing: its proof was erased by us, so the service does not know it any more"
    return advice_for_outcome(str(row["outcome"]), str(row["reason"] or ""))


def _is_before(erasure: Row, row: Row) -> bool:
    asked, finished = erasure["asked_at"], row["finished_at"]
    return isinstance(asked, datetime) and isinstance(finished, datetime) and asked <= finished


def _line_of_erasure(erasure: Row) -> str:
    asked = erasure["asked_at"]
    when = minute_of(asked) if isinstance(asked, datetime) else ""
    request_id = erasure["request_id"] or "no request ID"
    return f"erased by us: proof {erasure['proof_id']}, {erasure['outcome']}, {when}, {request_id}"


def _line_of_call(call: Row) -> str:
    started, elapsed = call["started_at"], float(str(call["elapsed_ms"]))
    when = f"{started:%Y-%m-%d %H:%M:%S}" if isinstance(started, datetime) else ""
    request_id = call["request_id"] or "no request ID"
    return f"{when}  {call['call']!s:<8} {_answer_of(call)}  {elapsed:,.0f} ms  {request_id}"


def lines_of_proof(proof_id: str, found: Sequence[tuple[str, datetime, Row]]) -> Iterator[str]:
    yield f"proof {proof_id}, in {counted(len(found), 'row')}"
    for table, moment, row in found:
        said = _words_about_proof(table, row)
        request_id = row.get("request_id") or row.get("verify_request_id")
        yield f"  {minute_of(moment)}  {row['environment']}  {said}{f', {request_id}' if request_id else ''}"
    items = dict.fromkeys(str(row["item_id"]) for table, _, row in found if table == "verdicts")
    yield from (f"  every call for its file: proofsweep explain {item_id}" for item_id in items)


def _words_about_proof(table: str, row: Row) -> str:
    match table:
        case "verdicts":
            return f"verified: {_words_of_outcome(row)}, {row['audio']}"
        case "erasures":
            return f"erased by us: {row['outcome'] or row['reason']}"
        case "proofs":
            return f"inventory: {row['state']}" + (f" ({row['differs']})" if row["differs"] else "")
        case "interpretations":
            return f"process note: {row['status']}"
        case "recoveries":
            to = row["recovered_to"]
            return f"sidecar: {row['outcome']}" + (f", written to {to}" if to else "")
    return ""


def _words_of_outcome(row: Row) -> str:
    words = [row["outcome"], *dict.fromkeys((row["verdict"], row["reason"]))]
    return " · ".join(str(word) for word in words if word is not None)


def json_of_proof(proof_id: str, found: Sequence[tuple[str, datetime, Row]]) -> dict[str, object]:
    return {
        "proof_id": proof_id,
        "found": [{"table": table, "at": moment.isoformat(), "row": row} for table, moment, row in found],
    }


@dataclass(frozen=True, slots=True, order=True)
class _Kind:
    hour: datetime
    service: str
    environment: str
    endpoint: str
    answer: str


@dataclass(slots=True)
class _Calls:
    first: datetime
    last: datetime
    count: int = 0
    named: list[str] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)

    def add(self, exchange: Row, started: datetime) -> None:
        self.count += 1
        self.first, self.last = min(self.first, started), max(self.last, started)
        request_id = exchange["request_id"]
        lines = self.unnamed if request_id is None else self.named
        if len(lines) < _MOST_CALLS:
            shown = f"no request ID; {_sent(exchange)}" if request_id is None else printable(str(request_id))
            lines.append(f"{started:%H:%M:%S}  {shown}")


def packet_of(calls: Iterable[tuple[Plan | Operation, Iterable[Row]]]) -> str:
    """Write what the partner's support needs to look calls up; empty if there are none.

    The contract asks clients to quote request IDs in problem reports (Behaviour, 7). A packet holds nothing that its
    monitoring guidance forbids: no key, audio, sidecar, slot field, proof ID or body; and no file name. Its size
    depends on the kinds of calls only.
    """
    kinds: dict[_Kind, _Calls] = {}
    for named, exchanges in calls:
        for exchange in exchanges:
            if isinstance(began := exchange["started_at"], datetime):
                started = began.astimezone(UTC)
                kind = _Kind(
                    hour=started.replace(minute=0, second=0, microsecond=0),
                    service=urlsplit(named.base_url).hostname or "",
                    environment=named.environment,
                    endpoint=ENDPOINTS.get(str(exchange["call"]), str(exchange["call"])),
                    answer=_answer_of(exchange),
                )
                kinds.setdefault(kind, _Calls(started, started)).add(exchange, started)
    if not kinds:
        return ""
    program = f"Contract {CONTRACT_VERSION}, client proofsweep {__version__}"
    lines = [f"Calls to look up. {program}. All times are UTC."]
    for kind, found in sorted(kinds.items()):
        lines += ["", *_lines_of_kind(kind, found)]
    return "\n".join(lines) + "\n"


def packet_of_failed_calls(results: Results, named: Plan | Operation) -> str:
    """Write the support packet of the calls of a run or an operation that did not succeed; empty without such."""
    with searching(results) as search:
        run_id = named.run_id if isinstance(named, Plan) else named.operation_id
        return packet_of([(named, search.failed_calls(run_id))])


def _answer_of(exchange: Row) -> str:
    words = [exchange["status"], exchange["error_code"], _FAILURES.get(str(exchange["failure"]))]
    return printable(" ".join(str(word) for word in words if word is not None)) or "no answer"


def _lines_of_kind(kind: _Kind, calls: _Calls) -> Iterator[str]:
    window = f"{calls.first:%Y-%m-%d %H:%M:%S}" + (f" to {calls.last:%H:%M:%S}" if calls.last > calls.first else "")
    service = f"{printable(kind.service)} ({printable(kind.environment)})"
    yield f"{kind.endpoint}: {kind.answer}. {counted(calls.count, 'call')}, {window}; {service}"
    shown = [*calls.named, *calls.unnamed][:_MOST_CALLS]
    yield from (f"  {line}" for line in shown)
    if calls.count > len(shown):
        yield f"  and {calls.count - len(shown):,} more"


def _sent(exchange: Row) -> str:
    sent, elapsed = exchange["bytes_sent"], exchange["elapsed_ms"]
    seconds = f"after {float(str(elapsed or 0)) / 1000:.1f} s"
    return f"nothing was sent, {seconds}" if sent is None else f"{sent:,} bytes sent, {seconds}"
