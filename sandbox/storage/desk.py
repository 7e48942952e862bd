"""The storage's desk: no keys, ids of its own, errors in XML."""

import secrets
from xml.sax.saxutils import escape

from sandbox.answers import Answer, Refused
from sandbox.calls import Call, Calls, Exchange
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

    def new_request_id(self) -> str:
        """Return sixteen hexadecimal digits, as object storage does."""
        return secrets.token_hex(8).upper()

    def admit(self, exchange: Exchange) -> None:
        """Let everybody in: the slot's policy and the link's signature are checked where they are read."""

    def refusal(self, refused: Refused, exchange: Exchange) -> Answer:
        """Return the XML error body of object storage."""
        body = (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f"<Error><Code>{escape(refused.code)}</Code><Message>{escape(refused.error)}</Message>"
            f"<RequestId>{exchange.request_id}</RequestId></Error>"
        )
        headers = {"content-type": "application/xml", **refused.headers}
        return Answer(status=refused.status, body=body.encode(), headers=headers)

    def headers(self, exchange: Exchange, status: int) -> dict[str, str]:  # noqa: ARG002 - the API's depend on it
        """Return the id header, the same on every answer."""
        return {"x-amz-request-id": exchange.request_id}
