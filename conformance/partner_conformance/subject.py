"""The service under test; a reply that several checks need is requested once."""

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from partner_conformance import operations, sounds
from partner_conformance.assertions import expect, objects_of, success_members, text_of
from partner_conformance.caller import Caller
from partner_conformance.inputs import Inputs
from partner_conformance.new_key_file import NewKeyFile
from partner_conformance.operations import Operation
from partner_conformance.pages import Walk
from partner_conformance.replies import NoAnswer, NotTried, Reply, Violation
from partner_conformance.slots import Slot
from partner_conformance.snapshot import Snapshot
from partner_conformance.wire import Wire

MADE_UP = "made-up-by-the-conformance-suite"
# Chosen: what moves with the time moves in it by more than the second that rounding may cost.
MOMENT_SECONDS = 2.0
# Contract, Endpoints 9: the default wait between two polls. Chosen: so many polls, so that most new notes are ready.
_POLL_SECONDS = 2
_LONGEST_POLL_SECONDS = 5
MOST_POLLS = 4
# Chosen: so many statuses are named one by one.
_FEW = 4

SHARED_CALLS = {"all proofs": 20, "one burst": 600}
"""The most keyed calls for it, once for all checks that share it.

Chosen: 2,000 proofs in pages of 100; a longer list is not read to its end, to save calls. 600 calls in a row to cause a
429: fewer may stay below the throttle, more use more of the quota.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """One completed rotation: its reply and members, what was seen before, and its time in unix seconds."""

    reply: Reply
    members: Mapping[str, object] = field(repr=False)
    before: Snapshot = field(repr=False)
    completed_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """One erasure: its reply, the proof's links, audio and upload from before, and what was seen before and after."""

    reply: Reply
    links: list[str] = field(repr=False)
    audio: bytes | None = field(repr=False)
    upload_id: str = field(repr=False)
    before: Snapshot = field(repr=False)
    after: Snapshot = field(repr=False)


class Subject(Caller):
    """The service under test: its wire, the inputs, and the replies so far."""

    def __init__(self, wire: Wire, inputs: Inputs) -> None:
        super().__init__(wire, inputs)
        wire.real_keys |= {key for key in (inputs.other_key, inputs.second_key) if key is not None}
        self.rotation: Rotation | None = None
        self.erasure: Erasure | None = None
        self.burst_calls = 0
        self.new_secrets: set[str] = set()
        self.is_key_lost = False
        self.new_key_file = None if inputs.new_key_file is None else NewKeyFile(inputs.new_key_file)

    @cached_property
    def health(self) -> Reply:
        """The reply of GET /health, without a key."""
        return self.wire.ask(operations.HEALTH)

    @cached_property
    def moments(self) -> list[dict[Operation, Reply]]:
        """The replies of health and usage at two times, a moment apart."""
        moments = []
        for pause in (0.0, MOMENT_SECONDS):
            self.wire.wait(pause)
            usage = self.wire.ask(operations.USAGE, query={"days": "1"})
            moments.append({operations.HEALTH: self.wire.ask(operations.HEALTH), operations.USAGE: usage})
        return moments

    @cached_property
    def inventory(self) -> Reply:
        """The list of keys, without `limit` and `cursor`."""
        return self.wire.ask(operations.KEYS)

    @cached_property
    def usage(self) -> Reply:
        """The usage of the default window."""
        return self.wire.ask(operations.USAGE)

    @cached_property
    def listing(self) -> Reply:
        """The newest proofs, up to 100."""
        return self.wire.ask(operations.PROOFS, query={"limit": "100"})

    @cached_property
    def all_proofs(self) -> Walk:
        """The list of proofs in pages of 100, up to 2,000."""
        return self.walk(operations.PROOFS, {"limit": "100"}, SHARED_CALLS["all proofs"])

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
        """The id of a proof of this tenant: the given one, or the newest."""
        if self.inputs.proof is not None:
            return self.inputs.proof
        if not self.items:
            raise NotTried("this key has no proof; name one with --proof")
        return text_of(self.items[0], "proofId", self.listing)

    @property
    def known_proof(self) -> str:
        """The id of a proof of this tenant, or a made-up one if it has none or its list has no answer."""
        try:
            return self.a_proof
        except (NotTried, Violation):
            return MADE_UP

    @cached_property
    def record(self) -> Reply:
        """The record of that proof."""
        return self.wire.ask(operations.PROOF, proof_id=self.a_proof)

    @cached_property
    def note(self) -> Reply:
        """The interpretation of that proof; a pending note is polled a few times, and not before it says."""
        for _ in range(MOST_POLLS):
            reply = self.wire.ask(operations.INTERPRETATION, proof_id=self.a_proof)
            told = reply.members.get("retryAfterSeconds", _POLL_SECONDS)
            is_short = isinstance(told, int) and 0 <= told <= _LONGEST_POLL_SECONDS
            if reply.members.get("status") != "pending" or not is_short:
                break
            self.wire.wait(max(1, int(str(told))))
        return reply

    @cached_property
    def unknown_proof(self) -> Reply:
        """The reply for an unknown proof."""
        return self.wire.ask(operations.PROOF, proof_id=MADE_UP)

    @cached_property
    def keyless(self) -> Reply:
        """The reply to a call without a key."""
        return self.wire.ask(operations.USAGE, key=None)

    @cached_property
    def bad_limit(self) -> Reply:
        """The reply to a list of keys with a `limit` of 0."""
        return self.wire.ask(operations.KEYS, query={"limit": "0"})

    @cached_property
    def slot(self) -> Slot:
        """A slot that stays empty."""
        return self.new_slot()

    @cached_property
    def unreadable(self) -> tuple[Reply, str]:
        """The reply for generated audio without a credential, and its uploadId."""
        return self.verified(sounds.silence())

    @property
    def unreadable_reply(self) -> Reply:
        """The reply for generated audio without a credential."""
        return self.unreadable[0]

    @cached_property
    def one_file(self) -> bytes:
        """The bytes of the accepted one-file credential."""
        if self.inputs.one_file is None:
            raise NotTried("needs --one-file")
        return self.inputs.one_file.read_bytes()

    @cached_property
    def accepted_upload(self) -> tuple[Reply, str]:
        """The reply for the accepted one-file credential, and its uploadId."""
        return self.verified(self.one_file)

    @property
    def accepted(self) -> Reply:
        """The reply for the accepted one-file credential."""
        return self.accepted_upload[0]

    @cached_property
    def pair(self) -> tuple[bytes, bytes]:
        """The bytes of the accepted pair: audio and sidecar."""
        if self.inputs.pair is None:
            raise NotTried("needs --pair")
        audio, sidecar = self.inputs.pair
        return audio.read_bytes(), sidecar.read_bytes()

    @cached_property
    def accepted_pair(self) -> Reply:
        """The reply for the accepted pair."""
        return self.verified(*self.pair)[0]

    def expect_status(self, reply: Reply, statuses: int | Collection[int], occasion: str) -> None:
        """Expect this status, or one of these.

        Raises:
            Violation: the reply has another one.
            NoAnswer: the service fails, and it fails for a correct call too.
        """
        expected = {statuses} if isinstance(statuses, int) else statuses
        if reply.status in expected:
            return
        if reply.is_failure and self._answer_to_a_correct_call(reply.operation).is_failure:
            raise NoAnswer(f"{reply.operation} repeatedly answered {reply.status}", (reply,))
        few = len(expected) <= _FEW
        wanted = " or ".join(map(str, sorted(expected))) if few else f"one of {min(expected)} to {max(expected)}"
        raise Violation(f"{reply.operation} {occasion} answered {reply.status}, not {wanted}", (reply,))

    def correct_calls(self) -> list[tuple[Operation, dict[str, Any]]]:
        """Return a correct call of each keyed operation that rotates and erases nothing."""
        by_id = {"proof_id": MADE_UP}
        return [
            (operations.KEYS, {}),
            (operations.USAGE, {"query": {"days": "1"}}),
            (operations.PROOFS, {"query": {"limit": "1"}}),
            (operations.PROOF, by_id),
            (operations.ASSET, by_id),
            (operations.INTERPRETATION, by_id),
            (operations.UPLOADS, {"query": {"purpose": "verify"}}),
            (operations.VERIFY, {"body": {"uploadId": self.unreadable[1]}}),
        ]

    def expect_accepted_everywhere(self, key: str, name: str) -> None:
        """Expect that no operation refuses this key, and that an accepted credential is so with it too."""
        for operation, call in self.correct_calls():
            reply = self.wire.ask(operation, key=key, **call)
            expect(reply.status != 403, f"{operation} refused {name}", reply)  # noqa: PLR2004 - a refused key
        if self.inputs.one_file is not None:
            first, upload_id = self.accepted_upload
            again = self.verify(upload_id, key=key)
            is_same = again.members.get("verdict") == first.members.get("verdict")
            expect(is_same or again.is_error, f"{name} gives another verdict for the same audio", first, again)

    def _answer_to_a_correct_call(self, operation: Operation) -> Reply:
        """Make a correct call of this operation, or of one beside it if it would rotate or erase."""
        if operation is operations.VERIFY:
            return self.verify(self.unreadable[1])
        beside = {operations.ROTATE: operations.KEYS, operations.ERASE: operations.PROOF}.get(operation, operation)
        if beside is operations.INTERPRETATION and self.known_proof != MADE_UP:
            return self.note
        query = {"purpose": "verify"} if beside is operations.UPLOADS else None
        return self.wire.ask(beside, proof_id=self.known_proof, query=query)


def a_made_up_key() -> str:
    """Return a key that no service has issued."""
    return f"made-up-{secrets.token_hex(16)}"
