"""What the partner's support needs to look calls up: request IDs, times and endpoints. Pure.

The contract asks clients to quote request IDs in problem reports (Behaviour, 7). A packet holds nothing that its
monitoring guidance forbids: no key, audio, sidecar, slot field, proof ID or body; and no file name.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urlsplit

from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Row
from proofsweep.domain.operations import Operation
from proofsweep.domain.runs import Plan
from proofsweep.domain.text import printable

_MOST_CALLS = 10
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


class SupportPacket:
    """Collects calls of any number, and writes the text; its size depends on the kinds of calls only."""

    def __init__(self) -> None:
        self._kinds: dict[_Kind, _Calls] = {}

    def add(self, plan: Plan | Operation, exchanges: Iterable[Row]) -> None:
        for exchange in exchanges:
            started = exchange["started_at"]
            if isinstance(started, datetime):
                self._add(plan, exchange, started.astimezone(UTC))

    def text(self, contract: str, program: str) -> str:
        """Write the packet as plain text, with the versions of contract and program; empty if there are no calls."""
        if not self._kinds:
            return ""
        lines = [f"Calls to look up. Contract {contract}, client {program}. All times are UTC."]
        for kind, calls in sorted(self._kinds.items()):
            lines += ["", *_lines_of(kind, calls)]
        return "\n".join(lines) + "\n"

    def _add(self, plan: Plan | Operation, exchange: Row, started: datetime) -> None:
        kind = _Kind(
            hour=started.replace(minute=0, second=0, microsecond=0),
            service=urlsplit(plan.base_url).hostname or "",
            environment=plan.environment,
            endpoint=ENDPOINTS.get(str(exchange["call"]), str(exchange["call"])),
            answer=answer_of(exchange),
        )
        calls = self._kinds.setdefault(kind, _Calls(started, started))
        calls.count += 1
        calls.first, calls.last = min(calls.first, started), max(calls.last, started)
        request_id = exchange["request_id"]
        if request_id is not None:
            _keep(calls.named, f"{started:%H:%M:%S}  {printable(str(request_id))}")
        else:
            _keep(calls.unnamed, f"{started:%H:%M:%S}  no request ID; {_sent(exchange)}")


def answer_of(exchange: Row) -> str:
    words = [exchange["status"], exchange["error_code"], _FAILURES.get(str(exchange["failure"]))]
    return printable(" ".join(str(word) for word in words if word is not None)) or "no answer"


def _lines_of(kind: _Kind, calls: _Calls) -> Iterator[str]:
    number = "1 call" if calls.count == 1 else f"{calls.count:,} calls"
    window = f"{calls.first:%Y-%m-%d %H:%M:%S}" + (f" to {calls.last:%H:%M:%S}" if calls.last > calls.first else "")
    service = f"{printable(kind.service)} ({printable(kind.environment)})"
    yield f"{kind.endpoint}: {kind.answer}. {number}, {window}; {service}"
    shown = [*calls.named, *calls.unnamed][:_MOST_CALLS]
    yield from (f"  {line}" for line in shown)
    if calls.count > len(shown):
        yield f"  and {calls.count - len(shown):,} more"


def _keep(lines: list[str], line: str) -> None:
    if len(lines) < _MOST_CALLS:
        lines.append(line)


def _sent(exchange: Row) -> str:
    sent, elapsed = exchange["bytes_sent"], exchange["elapsed_ms"]
    seconds = f"after {float(str(elapsed or 0)) / 1000:.1f} s"
    return f"nothing was sent, {seconds}" if sent is None else f"{sent:,} bytes sent, {seconds}"
