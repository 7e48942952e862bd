"""POST /slots/{token}: check the form against the slot's policy, and store its file while it streams."""

from xml.sax.saxutils import escape

from proofsweep_sandbox.answers import Answer, Refusal
from proofsweep_sandbox.registry.slots import Slot
from proofsweep_sandbox.routing import Exchange
from proofsweep_sandbox.service import Service
from proofsweep_sandbox.storage.atomic_file import AtomicFile, TooLarge
from proofsweep_sandbox.storage.multipart_form import MalformedForm, SlotForm
from proofsweep_sandbox.storage.policy import length_range


class _SlotFile:
    """Receives the file of a form and writes it into the slot."""

    def __init__(self, service: Service, slot: Slot) -> None:
        self._service = service
        self._slot = slot
        self._min_bytes = 0
        self.target: AtomicFile | None = None

    def begin(self, fields: dict[str, str]) -> None:
        """Check the form before any byte of the file is written."""
        self._min_bytes, max_bytes = length_range(self._service, self._slot, fields)
        self.target = AtomicFile(self._service.folder("uploads") / self._slot.token, max_bytes)

    def write(self, data: bytes) -> None:
        """Write more of the file."""
        if self.target is not None:
            self.target.write(data)

    def finish(self) -> str:
        """Complete the file and return its digest."""
        if self.target is None:
            raise Refusal(400, "InvalidArgument", "the form has no field named file")
        if self.target.size_bytes < self._min_bytes:
            raise Refusal(400, "EntityTooSmall", "the file is smaller than the policy allows")
        self.target.commit()
        return self.target.sha256


async def fill(service: Service, exchange: Exchange) -> Answer:
    """Store the file of the form; while the policy is valid, a second form replaces the file."""
    slot = service.slots.by_token(exchange.path["token"])
    if slot is None:
        raise Refusal(404, "NoSuchBucket", "there is no such slot")
    # As object storage: an upload must announce its length.
    if "content-length" not in exchange.request.headers:
        raise Refusal(411, "MissingContentLength", "the Content-Length header is required")
    file = _SlotFile(service, slot)
    try:
        await _read(exchange, file)
        sha256 = file.finish()
    finally:
        if file.target is not None:
            file.target.discard()
    service.slots.fill(slot, sha256)
    return stored(service.unspecified.stored_status, sha256)


def stored(status: int, sha256: str) -> Answer:
    """Answer that the file is stored; as in object storage, only 201 has a body."""
    etag = f'"{sha256[:32]}"'
    if status != 201:  # noqa: PLR2004 - Created
        return Answer(status=status, headers={"etag": etag})
    body = f'<?xml version="1.0"?>\n<PostResponse><ETag>{escape(etag)}</ETag></PostResponse>'
    return Answer(status=status, body=body.encode(), headers={"etag": etag, "content-type": "application/xml"})


async def _read(exchange: Exchange, file: _SlotFile) -> None:
    """Read the body to its end, also after a refusal: a client that is still sending cannot read the answer."""
    refusal: Refusal | None = None
    try:
        form = SlotForm(exchange.request.headers.get("content-type", ""), file)
    except MalformedForm as error:
        raise Refusal(412, "PreconditionFailed", str(error)) from error
    async for chunk in exchange.request.stream():
        if refusal is None:
            refusal = _refusal_of(form, chunk)
    if refusal is None and not form.is_complete:
        refusal = Refusal(400, "MalformedPOSTRequest", "the form ends before its closing boundary")
    if refusal is not None:
        raise refusal


def _refusal_of(form: SlotForm, chunk: bytes) -> Refusal | None:
    try:
        form.write(chunk)
    except Refusal as refusal:
        return refusal
    except TooLarge:
        return Refusal(400, "EntityTooLarge", "the file is larger than the policy allows")
    except MalformedForm as error:
        return Refusal(400, "MalformedPOSTRequest", str(error))
    return None
