"""The API gateway: the endpoints, authentication, quota and throttle, and the ApiError body."""

import math
from uuid import uuid4

from proofsweep_sandbox.answers import Answer, Refusal, json_answer
from proofsweep_sandbox.api import proofs, self_service, verification
from proofsweep_sandbox.registry.keys import Key
from proofsweep_sandbox.routing import Exchange
from proofsweep_sandbox.service import Service

# Contract, Endpoints.
ENDPOINTS = (*self_service.ENDPOINTS, *proofs.ENDPOINTS, *verification.ENDPOINTS)


class ApiGateway:
    """The origin of the API: its endpoints, and who may call them."""

    name = "api"
    endpoints = ENDPOINTS

    def __init__(self, service: Service) -> None:
        self._service = service

    def new_request_id(self) -> str:
        return str(uuid4())

    def admit(self, exchange: Exchange) -> None:
        """Admit a request to a public endpoint, or one with a valid key, within its quota and its lane."""
        if exchange.endpoint.is_public:
            return
        exchange.key = self._key_of(exchange)
        self._meter(exchange, exchange.key)

    def error_answer(self, refusal: Refusal, exchange: Exchange) -> Answer:  # noqa: ARG002 - the storage needs it
        members = {"error": refusal.error, "code": refusal.code}
        return json_answer(members, refusal.status).with_headers(refusal.headers)

    def headers(self, exchange: Exchange, status: int) -> dict[str, str]:
        """Return both request-ID headers, and the three quota headers wherever the contract promises them."""
        headers = {"x-request-id": exchange.request_id, "x-amzn-requestid": exchange.request_id}
        # Contract, Endpoints 2 and Errors 5.
        is_promised = exchange.endpoint.is_self_service or status == 429  # noqa: PLR2004
        if exchange.key is not None and is_promised:
            now = self._service.clock.now()
            headers |= self._service.meters.read(exchange.key.meter, now).headers
        return headers

    def _key_of(self, exchange: Exchange) -> Key:
        # Contract, Authentication: a missing or invalid key yields 403; there is no 401.
        secret = exchange.request.headers.get("x-api-key", "")
        key = self._service.keys.by_secret(secret)
        if key is None or key.status(self._service.clock.now()) == "expired":
            raise Refusal(403, "forbidden", "the API key is missing or invalid")
        return key

    def _meter(self, exchange: Exchange, key: Key) -> None:
        service = self._service
        now = service.clock.now()
        reading = service.meters.read(key.meter, now)
        # A call beyond the quota is not counted; one that is throttled is: the two are refused alike, but only the
        # second one uses up the month.
        if reading.remaining == 0:
            wait_seconds = math.ceil(reading.reset - now)
            raise Refusal(429, "rate_limited", "the monthly quota is exhausted", retry_after=wait_seconds)
        service.meters.count(key.meter, now)
        exchange.charged = True
        wait_seconds = service.throttle.wait_seconds(key.meter, exchange.endpoint.lane, now)
        if wait_seconds:
            raise Refusal(429, "rate_limited", "too many calls at once", retry_after=wait_seconds)
