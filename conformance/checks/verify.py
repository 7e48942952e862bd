"""POST /verify: the request, and the members of the answer."""

from conformance.assertions import expect, flag_of, object_of, seconds_of, success_members, text_of
from conformance.definition import check
from conformance.operations import VERIFY
from conformance.replies import NotTried, Reply
from conformance.subject import Subject

_CONSTANT = ("good", "verdict", "proofId", "song", "issuedAt")
_GRADE = ("human", "ai", "unknown", "riskCategory", "rubricVersion")


@check(calls=2)
def resources_verify_fields(service: Subject) -> None:
    """An answer has `good` (a boolean) and `verdict` (a string)."""
    reply, _ = service.unreadable
    flag_of(success_members(reply), "good", reply)
    text_of(success_members(reply), "verdict", reply)


@check(calls=5)
def endpoints_11_verify_repeats_identically(service: Subject) -> None:
    """The same verification, made three times, gives the same answer."""
    first, upload_id = service.unreadable
    expected = _constant_members(first)
    for _ in range(2):
        again = service.verify(upload_id)
        expect(again.status == first.status, f"the repeated call answered {again.status}", first, again)
        expect(_constant_members(again) == expected, "the repeated call has another answer", first, again)


@check(calls=1)
def endpoints_11_body_that_is_no_json_is_400(service: Subject) -> None:
    """A body with invalid JSON is refused with 400."""
    reply = service.wire.ask(VERIFY, body=b'{"uploadId": ', headers={"content-type": "application/json"})
    service.expect_status(reply, 400, "with half a JSON object")


@check(calls=2)
def endpoints_11_upload_id_is_required(service: Subject) -> None:
    """A body without `uploadId`, or with a number as `uploadId`, is refused with 400."""
    service.expect_status(service.wire.ask(VERIFY, body={}), 400, "without uploadId")
    service.expect_status(service.wire.ask(VERIFY, body={"uploadId": 7}), 400, "with a number as uploadId")


@check(calls=2, needs=("one_file",))
def resources_verify_accepted_fields(service: Subject) -> None:
    """The answer for an accepted credential has `proofId` and `song`, both strings."""
    members = _accepted(service)
    text_of(members, "proofId", service.accepted)
    expect(isinstance(members.get("song"), str), "song is not a string", service.accepted)


@check(calls=2, needs=("one_file",))
def resources_verify_issued_at_in_seconds(service: Subject) -> None:
    """`issuedAt` of an accepted credential is unix time in whole seconds."""
    seconds_of(_accepted(service), "issuedAt", service.accepted)


@check(calls=3, needs=("one_file",))
def resources_issued_at_is_the_same_everywhere(service: Subject) -> None:
    """`issuedAt` is the same in a verification and in the list of proofs."""
    members = _accepted(service)
    listed = [item for item in service.items if item.get("proofId") == members.get("proofId")]
    if not listed:
        raise NotTried("the one file's proof is not among this key's newest 100")
    is_same = listed[0].get("issuedAt") == members.get("issuedAt")
    expect(is_same, "issuedAt differs between the list and the verification", service.listing, service.accepted)


@check(calls=2, needs=("one_file",))
def resources_grade_members(service: Subject) -> None:
    """An optional `grade` is an object with its five members."""
    members = _accepted(service)
    if "grade" not in members:
        raise NotTried("the answer has no grade, which is optional")
    grade = object_of(members, "grade", service.accepted)
    lacking = [name for name in _GRADE if name not in grade]
    expect(not lacking, f"the grade lacks {', '.join(lacking)}", service.accepted)


@check(calls=2, needs=("one_file",))
def service_publicly_trusted_stays_false(service: Subject) -> None:
    """`publiclyTrusted` of an optional `embeddedCredential` is false."""
    members = _accepted(service)
    if "embeddedCredential" not in members:
        raise NotTried("the answer has no embeddedCredential, which is optional")
    credential = object_of(members, "embeddedCredential", service.accepted)
    expect(not flag_of(credential, "publiclyTrusted", service.accepted), "publiclyTrusted is true", service.accepted)


def _accepted(service: Subject) -> dict[str, object]:
    """Return the members of the answer for the one file, if it is accepted."""
    members = dict(success_members(service.accepted))
    if members.get("good") is not True:
        raise NotTried("the one file is not accepted; see verdicts-accepted-one-file-is-valid")
    return members


def _constant_members(reply: Reply) -> dict[str, object]:
    """Return the members that never change; the report-only ones may appear later."""
    return {name: success_members(reply).get(name) for name in _CONSTANT}
