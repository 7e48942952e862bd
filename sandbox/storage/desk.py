"""The storage's desk: no keys, ids of its own, errors in XML."""

import secrets
from xml.sax.saxutils import escape

from sandbox.answers import Answer, Refused
from sandbox.calls import Call, Calls, Exchange
from sandbox.service import Service
from sandbox.storage import assets, slots

CALLS = Calls(
    (
        Call(name="slot", method="POST", path="/slots/{token}", serve=slots.fill, is_public=True),
        Call(name="asset_download", method="GET", path="/assets/{asset}", serve=assets.download, is_public=True),
    )
)


class StorageDesk:
    """Knows the storage's calls; what may be done is written in forms and links, not in keys."""

    name = "storage"
    calls = CALLS

    def __init__(self, service: Service) -> None:
        self._service = service

    def new_request_id(self) -> str:
        """Return sixteen hexadecimal digits, as object storage does."""
        return secrets.token_hex(8).upper()

    def admit(self, exchange: Exchange) -> None:
        """Let everybody in: the slot's policy and the link's signature are checked where they are read."""

    def refusal(self, refused: Refused, exchange: Exchange) -> Answer:
        """Return an error in XML, as object storage does, or in plainer words."""
        match self._service.silences.storage_error:
            case "text":
                return Answer(
                    status=refused.status, body=refused.error.encode(), headers={"content-type": "text/plain"}
                )
            case "empty":
                return Answer(status=refused.status)
        body = (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f"<Error><Code>{escape(refused.code)}</Code><Message>{escape(refused.error)}</Message>"
            f"<RequestId>{exchange.request_id}</RequestId></Error>"
        )
        headers = {"content-type": "application/xml", **refused.headers}
        return Answer(status=refused.status, body=body.encode(), headers=headers)

    def headers(self, exchange: Exchange, status: int) -> dict[str, str]:  # noqa: ARG002 - the API's depend on it
        """Return the id header, the same on every answer, where this storage has one."""
        header = self._service.silences.storage_id
        return {} if header == "none" else {header: exchange.request_id}
