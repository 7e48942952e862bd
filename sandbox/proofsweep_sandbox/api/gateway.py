"""The API gateway: the endpoints, authentication, quota and throttle, and the ApiError body."""

import math
from dataclasses import replace
from uuid import uuid4

from proofsweep_sandbox.answers import Answer, Refusal, json_answer
from proofsweep_sandbox.api import health, keys, notices, proofs, uploads, usage, verify
from proofsweep_sandbox.later_release import sunset_of
from proofsweep_sandbox.registry.keys import Key
from proofsweep_sandbox.registry.meters import MeterReading
from proofsweep_sandbox.routing import Endpoint, Exchange, Routes
from proofsweep_sandbox.service import Service

# Contract, Endpoints.
ENDPOINTS = Routes(
    (
        Endpoint(name="health", method="GET", path="/v1/health", serve=health.show, is_public=True),
        Endpoint(name="keys", method="GET", path="/v1/partner/keys", serve=keys.show, is_self_service=True),
        Endpoint(
            name="rotate",
            method="POST",
            path="/v1/partner/keys/rotate",
            serve=keys.rotate,
            is_self_service=True,
            lane="rotate",
        ),
        Endpoint(name="usage", method="GET", path="/v1/partner/usage", serve=usage.show, is_self_service=True),
        Endpoint(name="proofs", method="GET", path="/v1/proofs", serve=proofs.show_all),
        Endpoint(name="proof", method="GET", path="/v1/proofs/{proof_id}", serve=proofs.show),
        Endpoint(name="erase", method="DELETE", path="/v1/proofs/{proof_id}", serve=proofs.erase),
        Endpoint(name="asset", method="GET", path="/v1/proofs/{proof_id}/asset", serve=proofs.show_asset),
        Endpoint(
            name="interpretation",
            method="GET",
            path="/v1/proofs/{proof_id}/interpretation",
            serve=proofs.show_interpretation,
        ),
        Endpoint(name="uploads", method="POST", path="/v1/uploads", serve=uploads.mint),
        Endpoint(name="verify", method="POST", path="/v1/verify", serve=verify.verify),
    )
)

# Ours: an endpoint that a later release adds.
LATER_ENDPOINTS = Routes(
    (
        *ENDPOINTS.endpoints,
        Endpoint(name="notices", method="GET", path="/v1/partner/notices", serve=notices.show, is_self_service=True),
    )
)
# Contract, Errors 5: the pairing of codes with statuses is not shown.
_OTHER_PAIRS = {"invalid_request": "unprocessable", "unprocessable": "conflict", "not_found": "invalid_request"}


class ApiGateway:
    """The origin of the API: its endpoints, and who may call them."""

    name = "api"

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def routes(self) -> Routes:
        """The contract's endpoints, and those that a later release adds."""
        return LATER_ENDPOINTS if self._service.is_later_release else ENDPOINTS

    def new_request_id(self) -> str:
        """Return a new UUID."""
        return str(uuid4())

    def admit(self, exchange: Exchange) -> None:
        """Admit a request to a public endpoint, or one with a valid key, within its quota and its lane."""
        if exchange.endpoint.is_public:
            return
        exchange.key = self._key_of(exchange)
        self._meter(exchange, exchange.key)

    def error_answer(self, refusal: Refusal, exchange: Exchange) -> Answer:
        """Return an ApiError."""
        body = json_answer({"error": refusal.error, "code": self._code(refusal, exchange.endpoint)}, refusal.status)
        return body.with_headers(refusal.headers)

    def headers(self, exchange: Exchange, status: int) -> dict[str, str]:
        """Return both request-ID headers, and the three quota headers wherever the contract promises them."""
        ids = {"x-request-id": exchange.request_id, "x-amzn-requestid": exchange.request_id}
        if self._service.is_later_release:
            ids["sunset"] = sunset_of(self._service.started_at)
        is_promised = exchange.endpoint.is_self_service or status == 429  # noqa: PLR2004 - Contract, Errors
        if exchange.key is None or not (is_promised or self._service.unspecified.quota_headers == "all"):
            return ids
        reading = self._service.meters.read(exchange.key.meter, self._service.clock.now())
        return ids | (reading if exchange.endpoint.name == "usage" else self._elsewhere(reading)).headers

    def _elsewhere(self, reading: MeterReading) -> MeterReading:
        """Return a reading for other endpoints: only GET /partner/usage is authoritative (contract, Limits)."""
        inexact = {"quota": reading.limit, "hundreds": reading.remaining // 100 * 100}
        return replace(reading, remaining=inexact.get(self._service.unspecified.headroom_elsewhere, reading.remaining))

    def _code(self, refusal: Refusal, endpoint: Endpoint) -> str:
        """Return the error's code; the contract states the code of 429 only."""
        if refusal.status == 429:  # noqa: PLR2004 - Contract, Errors
            return refusal.code
        if self._service.is_later_release:
            return f"{refusal.code}_since_2_5"
        match self._service.unspecified.code_names:
            case "specific":
                return f"{endpoint.name}.{refusal.code}"
            case "paired_otherwise":
                return _OTHER_PAIRS.get(refusal.code, refusal.code)
            case _:
                return refusal.code

    def _key_of(self, exchange: Exchange) -> Key:
        # Contract, Authentication: a missing or invalid key yields 403; there is no 401.
        secret = exchange.request.headers.get("x-api-key")
        key = self._service.keys.by_secret(secret) if secret else None
        if key is None or key.status(self._service.clock.now()) == "expired":
            raise Refusal(403, "forbidden", "the API key is missing or invalid")
        return key

    def _meter(self, exchange: Exchange, key: Key) -> None:
        """Check quota and throttle, and count the call; a call beyond the quota is not counted."""
        service = self._service
        now = service.clock.now()
        before = service.meters.read(key.meter, now)
        if before.remaining == 0:
            wait_seconds = math.ceil(before.reset - now)
            raise Refusal(429, "rate_limited", "the monthly quota is exhausted", retry_after=wait_seconds)
        wait_seconds = service.throttle.wait_seconds(key.meter, exchange.endpoint.lane, now)
        if wait_seconds == 0 or service.unspecified.throttled_counts:
            service.meters.count(key.meter, now)
            exchange.charged = True
        if wait_seconds:
            retry_after = max(0, wait_seconds + service.unspecified.retry_after_off)
            raise Refusal(429, "rate_limited", "too many calls at once", retry_after=retry_after)
