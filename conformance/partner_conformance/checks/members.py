"""The members of every answer and their types (contract, Resources), and timestamps in whole seconds."""

from collections.abc import Iterable, Mapping

from partner_conformance import operations
from partner_conformance.assertions import (
    expect,
    flag_of,
    number_of,
    object_of,
    objects_of,
    rooted,
    seconds_of,
    success_members,
    text_of,
)
from partner_conformance.definition import Check, made_of
from partner_conformance.operations import Operation
from partner_conformance.replies import Reply
from partner_conformance.subject import MOST_POLLS, Subject

_STRING, _BOOLEAN, _SECONDS, _COUNT = "a string", "a boolean", "seconds", "a count"
Shape = Mapping[str, object]
_ACCEPTED: Shape = {"proofId": _STRING, "song": _STRING, "issuedAt": _SECONDS}
SHAPES: Mapping[Operation, Shape] = {
    operations.HEALTH: {"ok": _BOOLEAN, "version": _STRING, "commit": _STRING, "deployedAt": _SECONDS},
    operations.KEYS: {"keys": [{"keyId": _STRING, "name": _STRING, "status": _STRING}]},
    operations.ROTATE: {"apiKey": _STRING, "keyId": _STRING, "name": _STRING, "previousKeyExpiresAt": _SECONDS},
    operations.USAGE: {
        "plan": {"quotaLimit": "a number", "quotaPeriod": _STRING},
        "days": [{"date": "anything", "used": _COUNT, "remaining": _COUNT}],
    },
    operations.PROOFS: {"items": [{**_ACCEPTED, "hasFeedback": _BOOLEAN, "classification?": _STRING}]},
    operations.PROOF: {"song": _STRING, "classification?": _STRING},
    operations.ERASE: {"proofId": _STRING, "outcome": _STRING, "erasedAt": _SECONDS},
    operations.INTERPRETATION: {"status": _STRING, "retryAfterSeconds?": _COUNT, "policyVersion?": _STRING},
    operations.UPLOADS: {"uploadId": _STRING, "url": _STRING, "fields": {}},
    operations.VERIFY: {
        "good": _BOOLEAN,
        "verdict": _STRING,
        "classification?": _STRING,
        "grade?": dict.fromkeys(("human", "ai", "unknown", "riskCategory", "rubricVersion"), "anything"),
        "interpretation?": {},
        "embeddedCredential?": {},
    },
}
"""The members of each success; those with a question mark may be absent."""
_TIMES = {"createdAt", "issuedAt", "deployedAt", "erasedAt", "previousKeyExpiresAt"}
_NOTE_STATUSES = ("pending", "ready", "unavailable")
_READERS = {_STRING: text_of, _BOOLEAN: flag_of, _SECONDS: seconds_of, "a number": number_of}


def _members_of(name: str, sentence: str, source: str, calls: int, *needs: str) -> Check:
    """Make a check of one answer's members; `source` is the attribute of the service that holds the answer."""

    def has_members(service: Subject) -> None:
        reply = getattr(service, source)
        success_members(reply)
        expect_members(reply)

    return made_of(has_members, name, sentence, calls=calls, needs=needs)


_ISSUED = "has `proofId`, `song` and `issuedAt` in whole unix seconds"
RESOURCES = tuple(
    _members_of(f"resources-{name}", sentence, *more)  # type: ignore[arg-type]  # by position
    for name, sentence, *more in (
        ("health-fields", "Health has `ok`, `version` and `commit`, and `deployedAt` in unix seconds.", "health", 0),
        ("keys-record-fields", "A key's record has `keyId`, `name` and `status`, all strings.", "inventory", 1),
        ("usage-fields", "`plan` has its quota and period, and a day its label and two counts.", "usage", 1),
        ("proofs-item-fields", f"A listed proof {_ISSUED}, and `hasFeedback`.", "listing", 1),
        ("proof-display-fields", "A record has `song`, and an optional `classification`, strings.", "record", 2),
        ("interpretation-fields", "An interpretation has a known `status`, and text if ready.", "note", 1 + MOST_POLLS),
        ("verify-fields", "An answer has `good`, a boolean, and `verdict`, a string.", "unreadable_reply", 2),
        ("verify-accepted-fields", f"The answer for an accepted one-file {_ISSUED}.", "accepted", 2, "one_file"),
        ("verify-fields-of-a-pair", f"That for a pair {_ISSUED}.", "accepted_pair", 2, "pair", "sidecar_field"),
    )
)


def expect_members(reply: Reply) -> None:
    """Expect the members of a success."""
    with rooted(str(reply.operation)):
        members = reply.document
        _expect_shape(members, SHAPES.get(reply.operation, {}), reply)
        if reply.operation is operations.VERIFY and members.get("good") is True:
            _expect_shape(members, _ACCEPTED, reply)
        credential = members.get("embeddedCredential") if reply.operation is operations.VERIFY else None
        is_trusted = isinstance(credential, dict) and credential.get("publiclyTrusted", False) is not False
        expect(not is_trusted, "publiclyTrusted is not false", reply)
        if reply.operation is operations.INTERPRETATION:
            status = members.get("status")
            expect(status in _NOTE_STATUSES, f"status is {str(status)[:40]!r}", reply)
            expect(status != "ready" or isinstance(members.get("text"), str), "a ready note has no text", reply)


def _expect_shape(members: Mapping[str, object], shape: Shape, reply: Reply) -> None:
    for optional, kind in shape.items():
        name = optional.removesuffix("?")
        if name != optional and name not in members:
            continue
        if isinstance(kind, list):
            for each in objects_of(members, name, reply):
                _expect_shape(each, kind[0], reply)
        elif isinstance(kind, dict):
            _expect_shape(object_of(members, name, reply), kind, reply)
        elif kind == "anything":
            is_there = name in members and (members[name] is not None or reply.operation is operations.VERIFY)
            expect(is_there, f"{name} is absent", reply)
        elif kind == _COUNT:
            value = members.get(name)
            is_digits = (
                isinstance(value, str) and value.isascii() and value.isdigit() and reply.operation is operations.USAGE
            )
            count = 0.0 if is_digits else number_of(members, name, reply)
            expect(count >= 0 and count == int(count), f"{name} is not a count", reply)
        else:
            _READERS[str(kind)](members, name, reply)


def times_in(value: object) -> Iterable[tuple[str, object]]:
    """Yield every timestamp in a document, with its name."""
    if isinstance(value, dict):
        yield from ((name, each) for name, each in value.items() if name in _TIMES)
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from times_in(each)
