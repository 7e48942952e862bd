"""The storage target: no keys, its own request IDs, errors in XML."""

import secrets
from xml.sax.saxutils import escape

from proofsweep_sandbox.answers import Answer, Refusal
from proofsweep_sandbox.routing import Endpoint, Exchange
from proofsweep_sandbox.storage import links, slots

ENDPOINTS = (
    Endpoint("slot", "POST", "/slots/{token}", slots.fill, is_public=True),
    Endpoint("asset_download", "GET", "/assets/{asset}", links.download, is_public=True),
)


class StorageTarget:
    """The origin of the storage; signed forms and links take the place of keys."""

    name = "storage"
    endpoints = ENDPOINTS

    def new_request_id(self) -> str:
        """Return sixteen hexadecimal digits, as object storage does."""
        return secrets.token_hex(8).upper()

    def admit(self, exchange: Exchange) -> None:
        """Admit every request: the endpoints check the slot's policy and the link's signature."""

    def error_answer(self, refusal: Refusal, exchange: Exchange) -> Answer:
        """Return an error in XML, as object storage does."""
        body = (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f"<Error><Code>{escape(refusal.code)}</Code><Message>{escape(refusal.error)}</Message>"
            f"<RequestId>{exchange.request_id}</RequestId></Error>"
        )
        headers = {"content-type": "application/xml", **refusal.headers}
        return Answer(status=refusal.status, body=body.encode(), headers=headers)

    def headers(self, exchange: Exchange, status: int) -> dict[str, str]:  # noqa: ARG002 - the API gateway needs it
        """Return the request-ID header."""
        return {"x-amz-request-id": exchange.request_id}
