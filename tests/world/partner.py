"""The partner of a world, written from the contract alone, with a ledger of all that it served.

It stands below httpcore: a connection is a stream whose requests are read as bytes, and whose answers come as bytes.
"""

import hashlib
import json
import math
import re
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from random import Random
from typing import Any
from urllib.parse import urlsplit

import httpcore
from kernel import EPOCH, Process, here

KEY, NEXT_KEY = "pk_world_0f4c9a7d21", "pk_world_7be1d3420c"  # secrets, which no object of a store may hold
HOST, STORAGE = "partner.world", "storage.world"
_PIECE_BYTES = 16_384


@dataclass(slots=True)
class Judgement:
    """What the partner says about some bytes, with their sidecar if there is one."""

    verdict: str = "unregistered"
    proof: str = ""
    contradicts_itself: bool = False  # `good` says something else than the verdict

    @property
    def is_good(self) -> bool:
        return (self.verdict == "valid") != self.contradicts_itself

    @property
    def is_accepted(self) -> bool:
        return self.is_good and self.verdict == "valid"


@dataclass(slots=True, kw_only=True)
class Served:
    """One request that the partner has read and answered."""

    at: float  # when it decided, in seconds of the world
    by: Process
    call: str
    is_keyed: bool
    status: int
    request_id: str
    has_key: bool = False  # whether the caller sent one, wanted or not
    slot: str = ""  # that was filled, or verified
    digest: str = ""  # of the audio
    sidecar: str = ""  # its digest
    verdict: str = ""
    is_accepted: bool = False
    proof: str = ""  # that was to be erased
    outcome: str = ""  # of that
    retry_after: float | None = None
    arrived_at: float | None = None  # when the caller had read the whole answer

    @property
    def has_arrived(self) -> bool:
        """Whether the caller has read the whole answer, and as it was given."""
        return self.arrived_at is not None and self.arrived_at < math.inf


@dataclass(slots=True, kw_only=True)
class Weather:
    """What goes wrong, as shares of all requests between two times."""

    since: float = 0.0
    until: float = math.inf
    refuses: float = 0.0  # connections
    breaks: float = 0.0  # connections, half of them after the work was done
    errors: float = 0.0  # 500, 502 or 503
    throttles: float = 0.0  # 429 for no reason
    forbids: float = 0.0  # 403 for a key that is right
    hangs: float = 0.0  # an answer that never comes
    garbles: float = 0.0  # an answer that is none, or says something else
    echoes: float = 0.0  # an answer that comes twice: the second one would be taken for that of the next request
    asks_seconds: float = 0.0  # what a 429 or 503 asks to wait at least
    calls: tuple[str, ...] = ()  # only these; empty for all

    def has(self, now: float, call: str) -> bool:
        return self.since <= now < self.until and (not self.calls or call in self.calls)


@dataclass(slots=True)
class Answer:
    status: int
    document: object = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Slot:
    id: str
    made_at: float
    digest: str = ""


class Partner:
    """Its `rate` and `burst` are of calls with the key; its clock is `skew` seconds ahead of the true time."""

    def __init__(self, *, rate: float = 200.0, burst: float = 50.0, quota: int = 1_000_000) -> None:
        self.judgements: dict[tuple[str, str], Judgement] = {}  # by the digests of audio and sidecar
        self.erased: set[str] = set()  # proofs
        self.rate, self.burst, self.quota = rate, burst, quota
        self.random = here().stream("partner")
        self.key = KEY
        self.slot_seconds = 900.0
        self.latency = 0.02
        self.skew = 0.0
        self.tells_date = True
        self.tells_retry_after = True
        self.weather: list[Weather] = []
        self.served: list[Served] = []
        self.slots: dict[str, _Slot] = {}
        self._tokens, self._filled_at, self._serial = burst, 0.0, 0

    @property
    def seconds_ahead(self) -> float:
        """How far what processes write down by its clock is ahead of the true time."""
        return self.skew if self.tells_date else 0.0

    def judge(self, digest: str, sidecar: str) -> Judgement:
        judgement = self.judgements.get((digest, sidecar))
        if judgement is None:
            return Judgement("unreadable")
        if judgement.proof in self.erased:
            return replace(judgement, verdict="unregistered")
        return judgement

    def fault(self, kind: str, call: str) -> bool:
        shares = (getattr(each, kind) for each in self.weather if each.has(here().now, call))
        return self.random.random() < max(shares, default=0.0)

    # --- One request

    def serve(self, request: "Request", by: Process) -> tuple[Served, Answer]:
        """Decide about a request, and write that into the ledger."""
        self._serial += 1
        served = Served(
            at=here().now,
            by=by,
            call=request.call,
            is_keyed=request.host == HOST and request.call != "health",
            has_key="x-api-key" in request.headers,
            status=0,
            request_id=f"r-{self._serial:06}",
        )
        answer = self._answer(request, served)
        served.status = answer.status
        self.served.append(served)
        here().tell("served", served.request_id, request.call, answer.status, served.verdict, of=by)
        return served, answer

    def _answer(self, request: "Request", served: Served) -> Answer:
        if served.is_keyed:
            if request.headers.get("x-api-key") != self.key or self.fault("forbids", request.call):
                return _refusal(403, "forbidden")
            if not self._takes_token() or self.fault("throttles", request.call):
                return self._throttled(served)
            if self.quota <= 0:
                served.retry_after = 86_400.0
                return Answer(429, _error("rate_limited"), {"Retry-After": "86400", **self._rate_headers()})
            self.quota -= 1
        if self.fault("errors", request.call):
            refusal = _refusal(self.random.choice((500, 502, 503)), "internal")
            if seconds := self._asked_seconds(request.call):
                refusal.headers["Retry-After"] = f"{seconds:.0f}"
            return refusal
        handler = getattr(self, f"_{request.call}", None)
        return _refusal(404, "not_found") if handler is None else handler(request, served)

    def _takes_token(self) -> bool:
        now = here().now
        self._tokens = min(self.burst, self._tokens + (now - self._filled_at) * self.rate)
        self._filled_at = now
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True

    def _throttled(self, served: Served) -> Answer:
        headers = self._rate_headers()
        if self.tells_retry_after:
            least_seconds = max(1.0, self._asked_seconds(served.call))
            served.retry_after = float(max(least_seconds, math.ceil((1.0 - self._tokens) / self.rate)))
            headers["Retry-After"] = f"{served.retry_after:.0f}"
        return Answer(429, _error("rate_limited"), headers)

    def _asked_seconds(self, call: str) -> float:
        return max((each.asks_seconds for each in self.weather if each.has(here().now, call)), default=0.0)

    def _rate_headers(self) -> dict[str, str]:
        return {
            "X-RateLimit-Limit": "1000000",
            "X-RateLimit-Remaining": str(self.quota),
            "X-RateLimit-Reset": f"{EPOCH + 20 * 86_400:.0f}",
        }

    def _health(self, _request: "Request", _served: Served) -> Answer:
        return Answer(200, {"ok": True, "version": "w-1", "commit": "0", "deployedAt": int(EPOCH) - 1000})

    def _usage(self, _request: "Request", _served: Served) -> Answer:
        plan = {"quotaLimit": 1_000_000, "quotaPeriod": "month"}
        return Answer(200, {"plan": plan, "days": []}, self._rate_headers())

    def _uploads(self, _request: "Request", _served: Served) -> Answer:
        slot = _Slot(f"u-{self._serial}", here().now)
        self.slots[slot.id] = slot
        fields = {"key": slot.id, "policy": "a-secret-policy"}
        return Answer(200, {"uploadId": slot.id, "url": f"http://{STORAGE}/slots", "fields": fields})

    def _slot(self, request: "Request", served: Served) -> Answer:
        form = request.form()
        slot = self.slots.get(form.get("key", b"").decode())
        if slot is None or slot.made_at + self.slot_seconds < here().now or "file" not in form:
            return Answer(403, None)
        served.slot = slot.id
        slot.digest = served.digest = hashlib.sha256(form["file"]).hexdigest()
        return Answer(204, None)

    def _verify(self, request: "Request", served: Served) -> Answer:
        asked = json.loads(request.body)
        slot = self.slots.get(asked.get("uploadId", ""))
        if slot is None or not slot.digest:
            return _refusal(404, "not_found")
        sidecar = hashlib.sha256(asked["sidecar"].encode()).hexdigest() if "sidecar" in asked else ""
        judgement = self.judge(slot.digest, sidecar)
        served.digest, served.sidecar, served.slot = slot.digest, sidecar, slot.id
        served.verdict, served.is_accepted = judgement.verdict, judgement.is_accepted
        document: dict[str, object] = {"good": judgement.is_good, "verdict": judgement.verdict}
        if judgement.proof:
            document |= {"proofId": judgement.proof, "song": f"Song {judgement.proof}", "issuedAt": int(EPOCH) - 5_000}
        if judgement.is_accepted:
            grade = {"human": 0.9, "ai": 0.0, "unknown": 0.1, "riskCategory": "low", "rubricVersion": "3"}
            document |= {"classification": "human", "grade": grade}
        return Answer(200, document)

    def _erase(self, request: "Request", served: Served) -> Answer:
        proof = request.path.rpartition("/")[2]
        is_there = any(each.proof == proof for each in self.judgements.values()) and proof not in self.erased
        outcome = "erased" if is_there else "already_erased"
        served.proof, served.outcome = proof, outcome
        self.erased.add(proof)
        return Answer(200, {"proofId": proof, "outcome": outcome, "erasedAt": int(EPOCH + here().now)})


def _error(code: str) -> dict[str, str]:
    return {"error": code.replace("_", " "), "code": code}


def _refusal(status: int, code: str) -> Answer:
    return Answer(status, _error(code))


# --- The wire


@dataclass(slots=True)
class Request:
    host: str
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def call(self) -> str:
        if self.host == STORAGE:
            return "slot"
        last = self.path.removeprefix("/v1/").split("/")
        if last[0] == "proofs" and self.method == "DELETE":
            return "erase"
        return last[-1] if len(last) < 3 else "unknown"

    def form(self) -> dict[str, bytes]:
        boundary = self.headers["content-type"].partition("boundary=")[2].encode()
        fields: dict[str, bytes] = {}
        for part in self.body.split(b"--" + boundary)[1:-1]:
            head, _, value = part.partition(b"\r\n\r\n")
            name = re.search(rb'name="([^"]*)"', head)
            if name is not None:
                fields[name[1].decode()] = value.removesuffix(b"\r\n")
        return fields


def _request_in(data: bytes) -> tuple[Request | None, bytes]:
    """Read the first whole request of some bytes; return it, if it is whole, and what follows."""
    head, found, rest = data.partition(b"\r\n\r\n")
    if not found:
        return None, data
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = int(headers.get("content-length", "0"))
    if len(rest) < length:
        return None, data
    url = urlsplit(target)
    request = Request(headers["host"], method, url.path, headers, rest[:length])
    return request, rest[length:]


class Connection(httpcore.NetworkStream):
    """One connection from a process to the partner or its storage."""

    def __init__(self, partner: Partner) -> None:
        self._partner, self._by = partner, here().require_life().process
        self._sent = b""  # by the caller
        self._answers: list[tuple[float, bytes, Served | None]] = []  # when each piece can be read
        self._is_closed = self._is_shut = False
        self._reader: tuple[Any, int] | None = None

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        here().sleep(self._partner.random.uniform(0.0, 0.002))
        if self._is_closed:
            raise httpcore.WriteError("closed")
        self._sent += buffer
        request, self._sent = _request_in(self._sent)
        if request is not None:
            self._take(request)

    def _take(self, request: Request) -> None:
        partner, world = self._partner, here()
        if partner.fault("breaks", request.call):
            if partner.random.random() < 0.5:
                partner.serve(request, self._by)
            world.tell("connection breaks", request.call, of=self._by)
            self._is_closed = True
            return
        if partner.fault("hangs", request.call):
            if partner.random.random() < 0.5:
                partner.serve(request, self._by)
            world.tell("answer never comes", request.call, of=self._by)
            return
        ready_at = world.now + partner.latency * partner.random.uniform(0.5, 3.0)
        world.at(ready_at, lambda: self._reply(request))

    def _reply(self, request: Request) -> None:
        """Serve a request half way between its arrival and its answer, whether or not its caller is still alive."""
        partner, world = self._partner, here()
        served, answer = partner.serve(request, self._by)
        content = b"" if answer.document is None else json.dumps(answer.document).encode()
        status = answer.status
        is_whole = True
        if partner.fault("garbles", request.call):
            content, status, is_whole = _garbled(content, status, partner.random)
            world.tell("answer is garbled", request.call, status, of=self._by)
            served.arrived_at = math.inf
        headers = {"X-Request-Id": served.request_id, "Content-Length": str(len(content)), **answer.headers}
        if request.host == HOST:
            headers["Content-Type"] = "application/json"
        if partner.tells_date:
            headers["Date"] = formatdate(EPOCH + world.now + partner.skew, usegmt=True)
        lines = [f"HTTP/1.1 {status} OK", *(f"{name}: {value}" for name, value in headers.items())]
        head = "\r\n".join(lines).encode() + b"\r\n\r\n"
        arrives_at = world.now + partner.latency * partner.random.uniform(0.5, 3.0)
        sent = head + content if is_whole else (head + content)[: len(head) + len(content) // 2]
        if partner.fault("echoes", request.call):
            world.tell("answer comes twice", request.call, of=self._by)
            sent += sent
        self._answers.append((arrives_at, sent, served))
        if not is_whole:
            self._is_closed = True
        self._wake_at(arrives_at)

    def _wake_at(self, when: float) -> None:
        if self._reader is not None:
            task, wait = self._reader
            here().at(when, lambda: here().wake(task, wait))

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        world = here()
        until = math.inf if timeout is None else world.now + timeout
        while not self._is_shut:
            if self._answers and self._answers[0][0] <= world.now:
                return self._next_piece(max_bytes)
            if self._is_closed and not self._answers:
                return b""
            if world.now >= until:
                raise httpcore.ReadTimeout("the answer did not come")
            task = world.require_life()
            self._reader = (task, task.waits + 1)
            world.wait(min(until, self._answers[0][0] if self._answers else math.inf))
            self._reader = None
        raise httpcore.ReadError("aborted")

    def _next_piece(self, max_bytes: int) -> bytes:
        at, data, served = self._answers.pop(0)
        size = min(max_bytes, _PIECE_BYTES)
        if len(data) > size:
            self._answers.insert(0, (at, data[size:], served))
        elif served is not None and served.arrived_at is None:
            served.arrived_at = here().now
        return data[:size]

    def shutdown(self) -> None:
        self._is_shut = True
        self._wake_at(here().now)

    def close(self) -> None:
        self._is_closed = True

    def get_extra_info(self, info: str) -> object:
        if info == "socket":
            return self
        return self._is_closed if info == "is_readable" else None


def _garbled(content: bytes, status: int, random: Random) -> tuple[bytes, int, bool]:
    """Return an answer that is none: another body, a cut one, or another status."""
    kind = random.choice(("page", "cut", "empty", "list", "status"))
    if kind == "page":
        return b"<html>Bad gateway</html>", 200, True
    if kind == "cut":
        return content + b" " * 20, status, False
    if kind == "empty":
        return b"{}", 200, True
    if kind == "list":
        return b"[1]", 200, True
    return b"", 599, True


def connect(partner: Partner, host: str, seconds: float | None) -> httpcore.NetworkStream:
    """Open a connection, as httpcore's own backend does."""
    world = here()
    world.sleep(partner.random.uniform(0.0, 0.004))
    if host not in {HOST, STORAGE}:
        raise httpcore.ConnectError("unknown host")
    if partner.fault("refuses", "slot" if host == STORAGE else "connect"):
        if partner.random.random() < 0.3:
            world.sleep(seconds or 10.0)
            raise httpcore.ConnectTimeout("no answer")
        raise httpcore.ConnectError("refused")
    return Connection(partner)
