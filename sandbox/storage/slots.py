"""POST to a slot: a form is checked against its policy, and its file kept while it streams."""

from xml.sax.saxutils import escape

from sandbox.answers import Answer, Refusal
from sandbox.registry.slots import Slot
from sandbox.routing import Exchange
from sandbox.service import Service
from sandbox.storage.atomic_file import AtomicFile, TooLarge
from sandbox.storage.multipart_form import MalformedForm, SlotForm
from sandbox.storage.policy import length_range


class _SlotFile:
    """The file of a form on its way into a slot."""

    def __init__(self, service: Service, slot: Slot) -> None:
        self._service = service
        self._slot = slot
        self._least = 0
        self.deposit: AtomicFile | None = None

    def begin(self, fields: dict[str, str]) -> None:
        """Check the form before a single byte of the file is kept."""
        self._least, most = length_range(self._service, self._slot, fields)
        self.deposit = AtomicFile(self._service.folder("uploads") / self._slot.token, most)

    def write(self, data: bytes) -> None:
        """Keep more of the file."""
        if self.deposit is not None:
            self.deposit.write(data)

    def finish(self) -> str:
        """Put the file into its slot and return its digest."""
        if self.deposit is None:
            raise Refusal(400, "InvalidArgument", "the form has no field named file")
        if self.deposit.size_bytes < self._least:
            raise Refusal(400, "EntityTooSmall", "the file is smaller than the policy allows")
        self.deposit.keep()
        return self.deposit.sha256


async def fill(service: Service, exchange: Exchange) -> Answer:
    """Store the file of the form; a second form replaces the file of the first, as long as the policy holds."""
    slot = service.slots.by_token(exchange.path["token"])
    if slot is None:
        raise Refusal(404, "NoSuchBucket", "there is no such slot")
    # Object storage takes no upload whose length it does not know beforehand.
    if "content-length" not in exchange.request.headers:
        raise Refusal(411, "MissingContentLength", "the Content-Length header is required")
    file = _SlotFile(service, slot)
    try:
        await _read(exchange, file)
        sha256 = file.finish()
    finally:
        if file.deposit is not None:
            file.deposit.discard()
    service.slots.fill(slot, sha256)
    return stored(service.unspecified.stored_status, sha256)


def stored(status: int, sha256: str) -> Answer:
    """Say that the file is stored; as object storage does, 201 alone comes with a body."""
    etag = f'"{sha256[:32]}"'
    if status != 201:  # noqa: PLR2004 - Created
        return Answer(status=status, headers={"etag": etag})
    body = f'<?xml version="1.0"?>\n<PostResponse><ETag>{escape(etag)}</ETag></PostResponse>'
    return Answer(status=status, body=body.encode(), headers={"etag": etag, "content-type": "application/xml"})


async def _read(exchange: Exchange, file: _SlotFile) -> None:
    """Take the body to its end, also after a refusal: a client that still sends could not read the answer."""
    refused: Refusal | None = None
    try:
        form = SlotForm(exchange.request.headers.get("content-type", ""), file)
    except MalformedForm as error:
        raise Refusal(412, "PreconditionFailed", str(error)) from error
    async for chunk in exchange.request.stream():
        if refused is None:
            refused = _taken(form, chunk)
    if refused is None and not form.is_complete:
        refused = Refusal(400, "MalformedPOSTRequest", "the form ends before its closing boundary")
    if refused is not None:
        raise refused


def _taken(form: SlotForm, chunk: bytes) -> Refusal | None:
    try:
        form.write(chunk)
    except Refusal as refused:
        return refused
    except TooLarge:
        return Refusal(400, "EntityTooLarge", "the file is larger than the policy allows")
    except MalformedForm as error:
        return Refusal(400, "MalformedPOSTRequest", str(error))
    return None
