"""The storage target: no keys, its own request IDs, errors in XML."""

import secrets
from xml.sax.saxutils import escape

from proofsweep_sandbox.answers import Answer, Refusal
from proofsweep_sandbox.routing import Endpoint, Exchange, Routes
from proofsweep_sandbox.service import Service
from proofsweep_sandbox.storage import assets, slots

ENDPOINTS = Routes(
    (
        Endpoint(name="slot", method="POST", path="/slots/{token}", serve=slots.fill, is_public=True),
        Endpoint(name="asset_download", method="GET", path="/assets/{asset}", serve=assets.download, is_public=True),
    )
)


class StorageTarget:
    """The origin of the storage; signed forms and links take the place of keys."""

    name = "storage"
    routes = ENDPOINTS

    def __init__(self, service: Service) -> None:
        self._service = service

    def new_request_id(self) -> str:
        """Return sixteen hexadecimal digits, as object storage does."""
        return secrets.token_hex(8).upper()

    def admit(self, exchange: Exchange) -> None:
        """Admit every request: the endpoints check the slot's policy and the link's signature."""

    def error_answer(self, refusal: Refusal, exchange: Exchange) -> Answer:
        """Return an error in XML, as object storage does, or as the unspecified behaviour says."""
        match self._service.unspecified.storage_error:
            case "text":
                return Answer(
                    status=refusal.status, body=refusal.error.encode(), headers={"content-type": "text/plain"}
                )
            case "empty":
                return Answer(status=refusal.status)
        body = (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f"<Error><Code>{escape(refusal.code)}</Code><Message>{escape(refusal.error)}</Message>"
            f"<RequestId>{exchange.request_id}</RequestId></Error>"
        )
        headers = {"content-type": "application/xml", **refusal.headers}
        return Answer(status=refusal.status, body=body.encode(), headers=headers)

    def headers(self, exchange: Exchange, status: int) -> dict[str, str]:  # noqa: ARG002 - the API gateway needs it
        """Return the request-ID header, if this storage has one."""
        header = self._service.unspecified.storage_id
        return {} if header == "none" else {header: exchange.request_id}
