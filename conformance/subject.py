"""The service under examination: what several checks look at is asked for once."""

import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from conformance import sounds
from conformance.assertions import expect, object_of, objects_of, success_members, text_of
from conformance.inputs import Inputs
from conformance.new_key_file import NewKeyFile
from conformance.operations import HEALTH, KEYS, PROOF, PROOFS, UPLOADS, USAGE, VERIFY, Operation
from conformance.replies import NotTried, Reply, Violation
from conformance.wire import Wire

MADE_UP = "made-up-by-the-conformance-suite"
_MOST_PAGES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A slot as it was handed out; what is in it is for the storage alone."""

    upload_id: str
    url: str = field(repr=False)
    fields: Mapping[str, str] = field(repr=False)
    reply: Reply

    def form(self, audio: bytes) -> list[tuple[str, bytes | str]]:
        """Give the form as the contract wants it: all fields, then the file."""
        return [*self.fields.items(), ("file", audio)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """One completed rotation: its answer's members, and when it came (unix seconds)."""

    reply: Reply
    members: Mapping[str, object] = field(repr=False)
    completed_at: float


class Subject:
    """The wire and the inputs, with what was already seen."""

    def __init__(self, wire: Wire, inputs: Inputs) -> None:
        self.wire = wire
        self.inputs = inputs
        self.rotation: Rotation | None = None
        self.erasure: Reply | None = None
        self.new_key_file = None if inputs.new_key_file is None else NewKeyFile(inputs.new_key_file)

    @cached_property
    def health(self) -> Reply:
        """The service's health, asked for without a key."""
        return self.wire.ask(HEALTH)

    @cached_property
    def inventory(self) -> Reply:
        """All keys, asked for without `limit` and `cursor`."""
        return self.wire.ask(KEYS)

    @cached_property
    def usage(self) -> Reply:
        """The usage of the default window."""
        return self.wire.ask(USAGE)

    @cached_property
    def listing(self) -> Reply:
        """The newest proofs, as many as fit on a page."""
        return self.wire.ask(PROOFS, query={"limit": "100"})

    @cached_property
    def key_ids(self) -> list[str]:
        """The ids of all keys."""
        return [text_of(key, "keyId", self.inventory) for key in self.keys]

    @property
    def keys(self) -> list[Mapping[str, object]]:
        """The records of all keys."""
        return objects_of(success_members(self.inventory), "keys", self.inventory)

    @property
    def items(self) -> list[Mapping[str, object]]:
        """The listed items of the newest proofs."""
        return objects_of(success_members(self.listing), "items", self.listing)

    @cached_property
    def a_proof(self) -> str:
        """The id of a proof held under the key: the one that was given, else the newest."""
        if self.inputs.proof is not None:
            return self.inputs.proof
        if not self.items:
            raise NotTried("no proof is held under this key; give one with --proof")
        return text_of(self.items[0], "proofId", self.listing)

    @cached_property
    def record(self) -> Reply:
        """The record of that proof."""
        return self.wire.ask(PROOF, proof_id=self.a_proof)

    @cached_property
    def unknown_proof(self) -> Reply:
        """What is said of a proof that never was."""
        return self.wire.ask(PROOF, proof_id=MADE_UP)

    @cached_property
    def keyless(self) -> Reply:
        """What is said to somebody without a key."""
        return self.wire.ask(USAGE, key=None)

    @cached_property
    def bad_limit(self) -> Reply:
        """What is said of a page of no keys at all."""
        return self.wire.ask(KEYS, query={"limit": "0"})

    @cached_property
    def slot(self) -> Slot:
        """A slot that is looked at and never filled."""
        return self.new_slot()

    @cached_property
    def unreadable(self) -> tuple[Reply, str]:
        """The answer to audio without any credential, made on the spot, and its uploadId."""
        return self.verified(sounds.silence())

    @cached_property
    def one_file(self) -> bytes:
        """The audio that was given as one that is accepted."""
        if self.inputs.one_file is None:
            raise NotTried("needs --one-file")
        return self.inputs.one_file.read_bytes()

    @cached_property
    def accepted(self) -> Reply:
        """The answer to the one file that is accepted."""
        return self.verified(self.one_file)[0]

    @cached_property
    def pair(self) -> tuple[bytes, bytes]:
        """Audio and sidecar of the pair that is accepted."""
        if self.inputs.pair is None:
            raise NotTried("needs --pair")
        audio, sidecar = self.inputs.pair
        return audio.read_bytes(), sidecar.read_bytes()

    @cached_property
    def accepted_pair(self) -> Reply:
        """The answer to the pair that is accepted."""
        return self.verified(*self.pair)[0]

    def new_slot(self) -> Slot:
        """Ask for a slot for verification."""
        reply = self.wire.ask(UPLOADS, query={"purpose": "verify"})
        members = success_members(reply)
        fields = object_of(members, "fields", reply)
        expect(all(isinstance(value, str) for value in fields.values()), "a form field is no string", reply)
        return Slot(
            upload_id=text_of(members, "uploadId", reply),
            url=text_of(members, "url", reply),
            fields={name: str(value) for name, value in fields.items()},
            reply=reply,
        )

    def stored(self, audio: bytes) -> str:
        """Take audio through the first two steps of the core flow; give the uploadId."""
        slot = self.new_slot()
        status = self.wire.post_form(slot.url, slot.form(audio))
        expect(is_success(status), f"the slot answered {status} to a form with all fields and the file", slot.reply)
        return slot.upload_id

    def verified(self, audio: bytes, sidecar: bytes | None = None) -> tuple[Reply, str]:
        """Take audio, or a pair, through all three steps; give the answer and the uploadId."""
        upload_id = self.stored(audio)
        return self.verify(upload_id, sidecar), upload_id

    def verify(self, upload_id: str, sidecar: bytes | None = None) -> Reply:
        """Ask for a verdict on what is stored."""
        body = {"uploadId": upload_id}
        if sidecar is not None:
            if self.inputs.sidecar_field is None:
                raise NotTried("needs --sidecar-field")
            body[self.inputs.sidecar_field] = base64.b64encode(sidecar).decode()
        return self.wire.ask(VERIFY, body=body)

    def pages(self, operation: Operation, limit: int) -> list[Reply]:
        """Page through a listing to its end; NotTried where that takes more than 20 pages."""
        replies: list[Reply] = []
        query = {"limit": str(limit)}
        while len(replies) < _MOST_PAGES:
            replies.append(self.wire.ask(operation, query=query))
            members = success_members(replies[-1])
            if "nextCursor" not in members:
                return replies
            cursor = members["nextCursor"]
            if not isinstance(cursor, str) or not cursor:
                raise Violation("nextCursor is there and is no cursor: on the last page it is absent", replies[-1:])
            expect(query.get("cursor") != cursor, "a page's nextCursor is the cursor that led to it", replies[-1])
            query = {"limit": str(limit), "cursor": cursor}
        raise NotTried(f"the listing has more than {_MOST_PAGES} pages")


def is_success(status: int) -> bool:
    """Say whether a storage target took the audio: nothing but its 2xx means that."""
    return 200 <= status < 300  # noqa: PLR2004 - the successes of HTTP


def a_made_up_key() -> str:
    """Give a key that no service has ever issued."""
    return f"made-up-{secrets.token_hex(16)}"
