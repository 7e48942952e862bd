"""The members of every answer and their types (contract, Resources), and timestamps in whole seconds."""

from collections.abc import Iterable, Mapping
from functools import partial

from partner_conformance.assertions import expect, number_of, rooted, seconds_of, success_members
from partner_conformance.definition import Check, Risk, check
from partner_conformance.operations import (
    ERASE,
    HEALTH,
    INTERPRETATION,
    KEYS,
    PROOF,
    PROOFS,
    ROTATE,
    UPLOADS,
    USAGE,
    VERIFY,
    Operation,
)
from partner_conformance.replies import NotTried, Reply
from partner_conformance.subject import MOST_POLLS, Subject

Shape = Mapping[str, object]

_TYPES = {"a string": str, "a boolean": bool, "an object": dict}
_GRADE = dict.fromkeys(("human", "ai", "unknown", "riskCategory", "rubricVersion"), "anything")
_TEXTS = ("a string", "a string", "a string")
SHAPES: Mapping[Operation, Shape] = {
    HEALTH: {"ok": "a boolean", "version": "a string", "commit": "a string", "deployedAt": "seconds"},
    KEYS: {"keys": [dict(zip(("keyId", "name", "status"), _TEXTS, strict=True))]},
    ROTATE: {**dict(zip(("apiKey", "keyId", "name"), _TEXTS, strict=True)), "previousKeyExpiresAt": "seconds"},
    USAGE: {
        "plan": {"quotaLimit": "a number", "quotaPeriod": "a string"},
        "days": [{"date": "anything", "used": "a count", "remaining": "a count"}],
    },
    PROOFS: {
        "items": [
            {
                "proofId": "a string",
                "song": "a string",
                "issuedAt": "seconds",
                "hasFeedback": "a boolean",
                "classification?": "a string",
            }
        ]
    },
    PROOF: {"song": "a string", "classification?": "a string"},
    ERASE: {"proofId": "a string", "outcome": "a string", "erasedAt": "seconds"},
    INTERPRETATION: {"status": "a string", "retryAfterSeconds?": "a count", "policyVersion?": "a string"},
    UPLOADS: {"uploadId": "a string", "url": "a string", "fields": "an object"},
    VERIFY: {
        "good": "a boolean",
        "verdict": "a string",
        "classification?": "a string",
        "grade?": _GRADE,
        "interpretation?": "an object",
        "embeddedCredential?": "an object",
    },
}
"""The members of each success; those with a question mark may be absent."""
_ACCEPTED: Shape = {"proofId": "a string", "song": "a string", "issuedAt": "seconds"}
_TIMES = {"createdAt", "issuedAt", "deployedAt", "erasedAt", "previousKeyExpiresAt"}
_NOTE_STATUSES = ("pending", "ready", "unavailable")


def _members_of(name: str, sentence: str, source: str, calls: int, *needs: str) -> Check:
    """Make a check of one answer's members; `source` is the attribute of the service that holds the answer."""

    def has_members(service: Subject) -> None:
        reply = getattr(service, source)
        success_members(reply)
        expect_members(reply)

    return Check(name=name, sentence=sentence, run=has_members, own_calls=calls, shares="", needs=needs, risk=Risk.NONE)


_one = partial(_members_of, calls=1)
resources_health = _members_of(
    "resources-health-fields",
    "Health has `ok` (a boolean), `version` and `commit` (strings), and `deployedAt` in whole unix seconds.",
    "health",
    0,
)
resources_keys = _one(
    "resources-keys-record-fields", "A key's record has `keyId`, `name` and `status`, all strings.", "inventory"
)
resources_usage = _one(
    "resources-usage-fields",
    "`plan` has `quotaLimit` (a number) and `quotaPeriod` (a string); a day has `date` and two counts.",
    "usage",
)
resources_proofs = _one(
    "resources-proofs-item-fields",
    "A listed proof has `proofId`, `song`, `issuedAt` in whole unix seconds, and `hasFeedback`.",
    "listing",
)
resources_proof = _members_of(
    "resources-proof-display-fields",
    "A proof's record has `song`; an optional `classification` is a string.",
    "record",
    2,
)
resources_note = _members_of(
    "resources-interpretation-fields",
    "An interpretation has a known `status`, a `text` if ready, and valid optional members.",
    "note",
    1 + MOST_POLLS,
)
resources_verify = _members_of(
    "resources-verify-fields", "An answer has `good` (a boolean) and `verdict` (a string).", "unreadable_reply", 2
)
resources_accepted = _members_of(
    "resources-verify-accepted-fields",
    "The answer for an accepted credential has `proofId`, `song` and `issuedAt`; optional members have their types.",
    "accepted",
    2,
    "one_file",
)
resources_pair = _members_of(
    "resources-verify-fields-of-a-pair",
    "The answer for an accepted pair has `proofId`, `song`, and `issuedAt` in whole unix seconds.",
    "accepted_pair",
    2,
    "pair",
    "sidecar_field",
)


@check(calls=0)
def resources_every_reply_has_its_members(service: Subject) -> None:
    """Every success has its members with their types, also on later pages and after an action."""
    for reply in _successes(service):
        expect_members(reply)


@check(calls=0)
def resources_every_timestamp_is_seconds(service: Subject) -> None:
    """Every timestamp, wherever it is, is unix time in whole seconds."""
    for reply in _successes(service):
        for name, value in _times_in(reply.members):
            is_whole = isinstance(value, int) and not isinstance(value, bool)
            expect(value is None or is_whole, f"{reply.operation} has {name} that is no whole number", reply)


def expect_members(reply: Reply) -> None:
    """Expect the members of a success."""
    with rooted(str(reply.operation)):
        members = reply.document
        _expect_shape(members, SHAPES.get(reply.operation, {}), reply)
        if reply.operation is VERIFY and members.get("good") is True:
            _expect_shape(members, _ACCEPTED, reply)
        if reply.operation is INTERPRETATION:
            status = members.get("status")
            expect(status in _NOTE_STATUSES, f"status is {str(status)[:40]!r}", reply)
            expect(status != "ready" or isinstance(members.get("text"), str), "a ready note has no text", reply)


def _expect_shape(members: Mapping[str, object], shape: Shape, reply: Reply) -> None:
    for name, kind in shape.items():
        required = name.removesuffix("?")
        if required != name and required not in members:
            continue
        value = members.get(required)
        if isinstance(kind, list):
            expect(isinstance(value, list), f"{required} is not an array", reply)
            for each in value if isinstance(value, list) else ():
                expect(isinstance(each, dict), f"{required} has an element that is not an object", reply)
                _expect_shape(each, kind[0], reply)
        elif isinstance(kind, dict):
            expect(isinstance(value, dict), f"{required} is not an object", reply)
            _expect_shape(value if isinstance(value, dict) else {}, kind, reply)
        else:
            _expect_kind(members, required, str(kind), reply)


def _expect_kind(members: Mapping[str, object], name: str, kind: str, reply: Reply) -> None:
    value = members.get(name)
    if kind == "seconds":
        seconds_of(members, name, reply)
    elif kind == "a number":
        number_of(members, name, reply)
    elif kind == "a count":
        is_digits = isinstance(value, str) and value.isascii() and value.isdigit() and reply.operation is USAGE
        count = 0.0 if is_digits else number_of(members, name, reply)
        expect(count >= 0 and count == int(count), f"{name} is not a count", reply)
    elif kind == "anything":
        expect(name in members and (value is not None or reply.operation is VERIFY), f"{name} is absent", reply)
    else:
        expect(isinstance(value, _TYPES[kind]), f"{name} is {_kind_of(members, name)}, not {kind}", reply)


def _kind_of(members: Mapping[str, object], name: str) -> str:
    if name not in members:
        return "absent"
    value = members[name]
    names = (each for each, kind in _TYPES.items() if isinstance(value, kind))
    return "null" if value is None else next(names, "an array" if isinstance(value, list) else "a number")


def _times_in(value: object) -> Iterable[tuple[str, object]]:
    if isinstance(value, dict):
        yield from ((name, each) for name, each in value.items() if name in _TIMES)
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _times_in(each)


def _successes(service: Subject) -> list[Reply]:
    found = [reply for reply in service.wire.replies if reply.status == reply.operation.success]
    if not found:
        raise NotTried("no call has succeeded yet")
    return found
