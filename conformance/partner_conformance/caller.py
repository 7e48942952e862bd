"""Calls of several steps: fill a slot, verify audio, walk through the pages of a list."""

import base64
from collections.abc import Callable, Mapping

from partner_conformance.assertions import expect, object_of, rooted, success_members, text_of
from partner_conformance.inputs import Inputs
from partner_conformance.operations import UPLOADS, VERIFY, Operation
from partner_conformance.pages import Walk, cursor_of
from partner_conformance.replies import NoAnswer, NotTried, Reply
from partner_conformance.slots import Form, Slot, is_storage_failure, is_stored
from partner_conformance.wire import Wire

# Chosen: slots for one form. With one, a single failure of the storage hides a check's result.
_SLOTS = 3


class Caller:
    """Makes calls of several steps over a wire."""

    def __init__(self, wire: Wire, inputs: Inputs) -> None:
        self.wire = wire
        self.inputs = inputs

    def new_slot(self, key: str | None = "") -> Slot:
        """Request a slot for verification."""
        reply = self.wire.ask(UPLOADS, key=key, query={"purpose": "verify"})
        with rooted(str(UPLOADS)):
            members = success_members(reply)
            fields = object_of(members, "fields", reply)
            expect(all(isinstance(value, str) for value in fields.values()), "a form field is not a string", reply)
            return Slot(
                upload_id=text_of(members, "uploadId", reply),
                url=text_of(members, "url", reply),
                fields={name: str(value) for name, value in fields.items()},
                reply=reply,
            )

    def posted(self, form_of: Callable[[Slot], Form], key: str | None = "") -> tuple[Slot, int]:
        """Request a slot and post a form to it; if the storage fails, repeat it with a fresh slot.

        Raises:
            NoAnswer: the storage failed each time.
        """
        for _ in range(_SLOTS):
            slot = self.new_slot(key)
            try:
                status = self.wire.elsewhere.post_form(slot.url, form_of(slot))
            except NoAnswer as error:
                said = error.said
            else:
                if not is_storage_failure(status):
                    return slot, status
                said = f"the slot repeatedly answered {status}"
            self.wire.pause()
        raise NoAnswer(said, (slot.reply,))

    def stored(self, audio: bytes, key: str | None = "") -> str:
        """Request a slot and fill it with audio; return the uploadId."""
        slot, status = self.posted(lambda slot: slot.form(audio), key)
        with rooted("slot"):
            expect(is_stored(status), f"the slot answered {status} to a form with all fields and the file", slot.reply)
        return slot.upload_id

    def verified(self, audio: bytes, sidecar: bytes | None = None) -> tuple[Reply, str]:
        """Upload and verify audio, or a pair; return the reply and the uploadId."""
        upload_id = self.stored(audio)
        return self.verify(upload_id, sidecar), upload_id

    def verify(self, upload_id: str, sidecar: bytes | None = None, *, key: str | None = "") -> Reply:
        """Verify stored audio; `key` as in `Wire.ask`."""
        body = {"uploadId": upload_id}
        if sidecar is not None:
            if self.inputs.sidecar_field is None:
                raise NotTried("needs --sidecar-field")
            body[self.inputs.sidecar_field] = base64.b64encode(sidecar).decode()
        return self.wire.ask(VERIFY, key=key, body=body)

    def walk(self, operation: Operation, query: Mapping[str, str], most_pages: int) -> Walk:
        """Return pages of a list from its beginning, or from the query's cursor."""
        replies: list[Reply] = []
        sent = dict(query)
        while True:
            replies.append(self.wire.ask(operation, query=sent))
            cursor = cursor_of(replies[-1], sent.get("cursor"))
            if cursor is None or len(replies) == most_pages:
                return Walk(pages=replies, cursor=cursor)
            sent["cursor"] = cursor
