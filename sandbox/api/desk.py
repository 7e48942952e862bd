"""The API's desk: keys, meters and lanes at the door, ApiError for whoever is turned away."""

import math
from dataclasses import replace
from uuid import uuid4

from sandbox.answers import Answer, Refused, json_answer
from sandbox.api import health, keys, notices, proofs, uploads, usage, verify
from sandbox.calls import Call, Calls, Exchange
from sandbox.evolution import sunset_of
from sandbox.registry.keys import Key
from sandbox.registry.meters import Reading
from sandbox.service import Service

# Contract, Endpoints.
CALLS = Calls(
    (
        Call(name="health", method="GET", path="/v1/health", serve=health.show, is_public=True),
        Call(name="keys", method="GET", path="/v1/partner/keys", serve=keys.show, is_self_service=True),
        Call(
            name="rotate",
            method="POST",
            path="/v1/partner/keys/rotate",
            serve=keys.rotate,
            is_self_service=True,
            lane="rotate",
        ),
        Call(name="usage", method="GET", path="/v1/partner/usage", serve=usage.show, is_self_service=True),
        Call(name="proofs", method="GET", path="/v1/proofs", serve=proofs.show_all),
        Call(name="proof", method="GET", path="/v1/proofs/{proof_id}", serve=proofs.show),
        Call(name="erase", method="DELETE", path="/v1/proofs/{proof_id}", serve=proofs.erase),
        Call(name="asset", method="GET", path="/v1/proofs/{proof_id}/asset", serve=proofs.show_asset),
        Call(
            name="interpretation",
            method="GET",
            path="/v1/proofs/{proof_id}/interpretation",
            serve=proofs.show_interpretation,
        ),
        Call(name="uploads", method="POST", path="/v1/uploads", serve=uploads.mint),
        Call(name="verify", method="POST", path="/v1/verify", serve=verify.verify),
    )
)

# What the contract of a later release adds.
LATER_CALLS = Calls(
    (
        *CALLS.known,
        Call(name="notices", method="GET", path="/v1/partner/notices", serve=notices.show, is_self_service=True),
    )
)
# Contract, Errors 5: the pairing of codes with statuses is not shown.
_OTHER_PAIRS = {"invalid_request": "unprocessable", "unprocessable": "conflict", "not_found": "invalid_request"}


class ApiDesk:
    """Knows the contract's calls and who may make them."""

    name = "api"

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def calls(self) -> Calls:
        """The contract's calls, and in a later release those that it adds."""
        return LATER_CALLS if self._service.is_later_release else CALLS

    def new_request_id(self) -> str:
        """Return a fresh UUID."""
        return str(uuid4())

    def admit(self, exchange: Exchange) -> None:
        """Let a call pass that is public, or whose key is valid, within its quota and its lane."""
        if exchange.call.is_public:
            return
        exchange.key = self._key_of(exchange)
        self._meter(exchange, exchange.key)

    def refusal(self, refused: Refused, exchange: Exchange) -> Answer:
        """Return an ApiError."""
        body = json_answer({"error": refused.error, "code": self._code(refused, exchange.call)}, refused.status)
        return body.with_headers(refused.headers)

    def headers(self, exchange: Exchange, status: int) -> dict[str, str]:
        """Return both request-ID headers, and the quota's three wherever the contract promises them."""
        ids = {"x-request-id": exchange.request_id, "x-amzn-requestid": exchange.request_id}
        if self._service.is_later_release:
            ids["sunset"] = sunset_of(self._service.started_at)
        is_promised = exchange.call.is_self_service or status == 429  # noqa: PLR2004 - Contract, Errors
        if exchange.key is None or not (is_promised or self._service.silences.quota_headers == "all"):
            return ids
        reading = self._service.meters.read(exchange.key.meter, self._service.clock.now())
        return ids | (reading if exchange.call.name == "usage" else self._elsewhere(reading)).headers

    def _elsewhere(self, reading: Reading) -> Reading:
        """Blur the headroom: GET /partner/usage is the authority (contract, Limits)."""
        blurred = {"quota": reading.limit, "hundreds": reading.remaining // 100 * 100}
        return replace(reading, remaining=blurred.get(self._service.silences.headroom_elsewhere, reading.remaining))

    def _code(self, refused: Refused, call: Call) -> str:
        """Name the error; 429 is the only status whose code the contract states."""
        if refused.status == 429:  # noqa: PLR2004 - Contract, Errors
            return refused.code
        if self._service.is_later_release:
            return f"{refused.code}_since_2_5"
        match self._service.silences.code_names:
            case "specific":
                return f"{call.name}.{refused.code}"
            case "paired_otherwise":
                return _OTHER_PAIRS.get(refused.code, refused.code)
            case _:
                return refused.code

    def _key_of(self, exchange: Exchange) -> Key:
        # Contract, Authentication: a missing or invalid key yields 403; there is no 401.
        secret = exchange.request.headers.get("x-api-key")
        key = self._service.keys.by_secret(secret) if secret else None
        if key is None or key.status(self._service.clock.now()) == "expired":
            raise Refused(403, "forbidden", "the API key is missing or invalid")
        return key

    def _meter(self, exchange: Exchange, key: Key) -> None:
        """Count the call, unless the quota has nothing left to count it against."""
        service = self._service
        now = service.clock.now()
        before = service.meters.read(key.meter, now)
        if before.remaining == 0:
            wait_seconds = math.ceil(before.reset - now)
            raise Refused(429, "rate_limited", "the monthly quota is exhausted", retry_after=wait_seconds)
        wait_seconds = service.throttle.wait_seconds(key.meter, exchange.call.lane, now)
        if wait_seconds == 0 or service.silences.throttled_counts:
            service.meters.count(key.meter, now)
            exchange.charged = True
        if wait_seconds:
            told_seconds = max(0, wait_seconds + service.silences.retry_after_off)
            raise Refused(429, "rate_limited", "too many calls at once", retry_after=told_seconds)
