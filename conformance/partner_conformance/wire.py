"""The HTTP client of the suite: it sends what the contract defines, and keeps within its budget of calls."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self
from urllib.parse import quote

import httpx

from partner_conformance.elsewhere import Elsewhere
from partner_conformance.network import Network, why
from partner_conformance.operations import KEYS, ROTATE, USAGE, Operation
from partner_conformance.replies import Headers, KeyRefused, NoAnswer, NotTried, OverBudget, Reply
from partner_conformance.waits import Lane, Waits

# Chosen: tries of one call. With one, a single failure hides a check's result; more only wait longer.
_TRIES = 3
# Chosen: between two tries.
_PAUSE_SECONDS = 0.5
_FORBIDDEN = 403

# At lower levels these write URLs; URLs contain proof ids and slots, which are confidential.
for name in ("httpx", "httpcore"):
    logging.getLogger(name).setLevel(logging.WARNING)


class Wire:
    """Calls the service, and keeps all replies of the API in order.

    The key is in single requests to the API and never in a client: no slot, link or redirect gets it. After a 429 the
    wire waits as long as the service says, in all for at most `max_wait_seconds`. It makes at most `most_calls` keyed
    calls; None means no limit.
    """

    def __init__(
        self,
        base_url: str,
        key: str,
        *,
        max_wait_seconds: float = 120.0,
        most_calls: int | None = None,
        sleep: Callable[[float], None] = time.sleep,
        network: Network | None = None,
    ) -> None:
        self.key = key
        self.real_keys = {key}
        self.replies: list[Reply] = []
        self._calls: Counter[str] = Counter()
        self.most_calls = most_calls
        network = network or Network()
        self.elsewhere = Elsewhere(network)
        self._base_url = base_url.rstrip("/")
        self._sleep = sleep
        self._waits = Waits(max_wait_seconds, sleep)
        self._refused: dict[str, Reply] = {}
        self._api = network.client()

    def ask(
        self,
        operation: Operation,
        *,
        key: str | None = "",
        proof_id: str = "",
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: object = None,
        waits: bool = True,
    ) -> Reply:
        """Make one call, and repeat it if the service fails or throttles: every call of the suite is safe to repeat.

        `key` is the wire's key by default, and None for no key. `body` is sent as JSON, or as it is if it is bytes.

        Raises:
            NoAnswer: all tries failed, or the lane is throttled for longer than the wire waits.
            NotTried: the budget of calls is spent.
            KeyRefused: the service refuses the wire's own key, here and elsewhere; of other real keys it is NotTried.
        """
        secret = self.key if key == "" else key
        if secret in self._refused:
            raise self._key_refused(secret)
        keyed = {} if secret is None or operation.is_public else {"x-api-key": secret}
        content = {"content": body} if isinstance(body, bytes) else {} if body is None else {"json": body}
        path = operation.path.replace("{proofId}", quote(proof_id, safe=""))
        request = self._api.build_request(
            operation.method, f"{self._base_url}{path}", params=query, headers={**(headers or {}), **keyed}, **content
        )
        reply = self._answer(operation, request, (secret, operation is ROTATE) if waits else None)
        if reply.status == _FORBIDDEN and secret in self.real_keys and not operation.is_public:
            self._require_accepted(secret or "", reply)
        return reply

    @property
    def keyed_calls(self) -> int:
        """The keyed calls so far, with all keys."""
        return self._calls.total()

    def calls_of(self, key: str) -> int:
        """Return the calls so far with a key; empty for the wire's own."""
        return self._calls[key or self.key]

    def wait(self, seconds: float) -> None:
        """Wait."""
        self._sleep(seconds)

    def pause(self) -> None:
        """Wait between two tries."""
        self._sleep(_PAUSE_SECONDS)

    def close(self) -> None:
        """Close the connections."""
        self._api.close()
        self.elsewhere.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _answer(self, operation: Operation, request: httpx.Request, lane: Lane | None) -> Reply:
        """Return the last answer; without a lane, do not wait after a 429."""
        failures = refusals = 0
        while True:
            if lane is not None and lane[0] is not None:
                self._waits.require_open(lane)
            try:
                reply = self._reply(operation, request)
            except NoAnswer:
                failures += 1
                if failures == _TRIES:
                    raise
                self.pause()
                continue
            if reply.is_failure and failures < _TRIES - 1:
                failures += 1
                self.pause()
            elif reply.is_throttled and lane is not None:
                refusals += 1
                self._waits.after(reply, lane, refusals)
            else:
                return reply

    def _reply(self, operation: Operation, request: httpx.Request) -> Reply:
        self._count(request)
        try:
            response = self._api.send(request)
        except httpx.HTTPError as error:
            raise NoAnswer(f"{operation} has no answer: {why(error)}") from None
        self._api.cookies.clear()  # a gateway's cookies are not sent back
        reply = Reply(
            operation=operation,
            status=response.status_code,
            headers=Headers(response.headers.multi_items()),
            body=response.content,
        )
        self.replies.append(reply)
        return reply

    def _count(self, request: httpx.Request) -> None:
        if "x-api-key" not in request.headers:
            return
        if self.most_calls is not None and self.keyed_calls >= self.most_calls:
            raise OverBudget(f"the budget of {self.most_calls} keyed calls is spent")
        self._calls[request.headers["x-api-key"]] += 1

    def _require_accepted(self, secret: str, refused: Reply) -> None:
        """After a 403 ask two operations that every key may call: only if both refuse it too, the key is refused."""
        for operation in (USAGE, KEYS):
            url = f"{self._base_url}{operation.path}"
            request = self._api.build_request(operation.method, url, headers={"x-api-key": secret})
            if self._answer(operation, request, (secret, False)).status != _FORBIDDEN:
                return
        self._refused[secret] = refused
        raise self._key_refused(secret)

    def _key_refused(self, secret: str) -> KeyRefused | NotTried:
        is_own = secret == self.key
        said = f"the service refuses the {'' if is_own else 'other '}key"
        return (KeyRefused if is_own else NotTried)(said, (self._refused[secret],))
