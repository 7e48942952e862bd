"""The API's desk: keys, meters and lanes at the door, ApiError for whoever is turned away."""

import math
from uuid import uuid4

from sandbox.answers import Answer, Refused, json_answer
from sandbox.api import health, keys, proofs, uploads, usage, verify
from sandbox.calls import Call, Calls, Exchange
from sandbox.registry.keys import Key
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


class ApiDesk:
    """Knows the contract's calls and who may make them."""

    name = "api"
    calls = CALLS

    def __init__(self, service: Service) -> None:
        self._service = service

    def new_request_id(self) -> str:
        """Return a fresh UUID."""
        return str(uuid4())

    def admit(self, exchange: Exchange) -> None:
        """Let a call pass that is public, or whose key is valid, within its quota and its lane."""
        if exchange.call.is_public:
            return
        exchange.key = self._key_of(exchange)
        self._meter(exchange.key, exchange.call)

    def refusal(self, refused: Refused, exchange: Exchange) -> Answer:  # noqa: ARG002 - the storage quotes its id here
        """Return an ApiError."""
        body = json_answer({"error": refused.error, "code": refused.code}, refused.status)
        return body.with_headers(refused.headers)

    def headers(self, exchange: Exchange, status: int) -> dict[str, str]:
        """Return both request-ID headers, and the quota's three where the contract promises them."""
        ids = {"x-request-id": exchange.request_id, "x-amzn-requestid": exchange.request_id}
        is_promised = exchange.call.is_self_service or status == 429  # noqa: PLR2004 - Contract, Errors
        if exchange.key is None or not is_promised:
            return ids
        return ids | self._service.meters.read(exchange.key.meter, self._service.clock.now()).headers

    def _key_of(self, exchange: Exchange) -> Key:
        # Contract, Authentication: a missing or invalid key yields 403; there is no 401.
        secret = exchange.request.headers.get("x-api-key")
        key = self._service.keys.by_secret(secret) if secret else None
        if key is None or key.status(self._service.clock.now()) == "expired":
            raise Refused(403, "forbidden", "the API key is missing or invalid")
        return key

    def _meter(self, key: Key, call: Call) -> None:
        """Count the call, unless the quota has nothing left to count it against."""
        service = self._service
        now = service.clock.now()
        before = service.meters.read(key.meter, now)
        if before.remaining == 0:
            wait_seconds = math.ceil(before.reset - now)
            raise Refused(429, "rate_limited", "the monthly quota is exhausted", retry_after=wait_seconds)
        service.meters.count(key.meter, now)
        if wait_seconds := service.throttle.wait_seconds(key.meter, call.lane, now):
            raise Refused(429, "rate_limited", "too many calls at once", retry_after=wait_seconds)
