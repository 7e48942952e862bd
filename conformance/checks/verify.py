"""POST /verify: what is asked, and what an answer holds."""

from conformance.assertions import expect, expect_status, flag_of, object_of, seconds_of, success_members, text_of
from conformance.definition import check
from conformance.operations import VERIFY
from conformance.replies import NotTried, Reply
from conformance.subject import Subject

_SAME = ("good", "verdict", "proofId", "song", "issuedAt")
_GRADE = ("human", "ai", "unknown", "riskCategory", "rubricVersion")


@check(calls=2)
def resources_verify_fields(service: Subject) -> None:
    """An answer has `good` (a boolean) and `verdict` (a string)."""
    reply, _ = service.unreadable
    flag_of(success_members(reply), "good", reply)
    text_of(success_members(reply), "verdict", reply)


@check(calls=5)
def endpoints_11_verify_repeats_identically(service: Subject) -> None:
    """Verifying has no side effects: asked again, and again, it gives the same answer."""
    first, upload_id = service.unreadable
    told = _what_stays(first)
    for _ in range(2):
        again = service.verify(upload_id)
        expect(again.status == first.status, f"asked again, it answered {again.status}", first, again)
        expect(_what_stays(again) == told, "asked again, it gave another answer", first, again)


@check(calls=1)
def endpoints_11_body_that_is_no_json_is_400(service: Subject) -> None:
    """A body that is no JSON is a malformed request: 400."""
    reply = service.wire.ask(VERIFY, body=b'{"uploadId": ', headers={"content-type": "application/json"})
    expect_status(reply, 400, "with half a JSON object")


@check(calls=2)
def endpoints_11_upload_id_is_required(service: Subject) -> None:
    """`uploadId` is a string and required: a body without one is a malformed request: 400."""
    expect_status(service.wire.ask(VERIFY, body={}), 400, "without uploadId")
    expect_status(service.wire.ask(VERIFY, body={"uploadId": 7}), 400, "with a number as uploadId")


@check(calls=2, needs=("one_file",))
def resources_verify_accepted_fields(service: Subject) -> None:
    """An accepted credential is told with `proofId` and `song`."""
    members = _accepted(service)
    text_of(members, "proofId", service.accepted)
    expect(isinstance(members.get("song"), str), "song is no string", service.accepted)


@check(calls=2, needs=("one_file",))
def resources_verify_issued_at_in_seconds(service: Subject) -> None:
    """`issuedAt` of an accepted credential is unix time in whole seconds."""
    seconds_of(_accepted(service), "issuedAt", service.accepted)


@check(calls=3, needs=("one_file",))
def resources_issued_at_is_the_same_everywhere(service: Subject) -> None:
    """`issuedAt` is one time, that of the proof's document, in a verification and in the listing."""
    members = _accepted(service)
    listed = [item for item in service.items if item.get("proofId") == members.get("proofId")]
    if not listed:
        raise NotTried("the one file's proof is not among the newest 100 under this key")
    is_same = listed[0].get("issuedAt") == members.get("issuedAt")
    expect(is_same, "listing and verification give one proof two times", service.listing, service.accepted)


@check(calls=2, needs=("one_file",))
def resources_grade_members(service: Subject) -> None:
    """A grade, where there is one, is an object with its five members."""
    members = _accepted(service)
    if "grade" not in members:
        raise NotTried("the answer has no grade, which it need not have")
    grade = object_of(members, "grade", service.accepted)
    lacking = [name for name in _GRADE if name not in grade]
    expect(not lacking, f"the grade lacks {', '.join(lacking)}", service.accepted)


@check(calls=2, needs=("one_file",))
def service_publicly_trusted_stays_false(service: Subject) -> None:
    """`publiclyTrusted` of an embedded credential stays false, since the enrollment is incomplete."""
    members = _accepted(service)
    if "embeddedCredential" not in members:
        raise NotTried("the answer has no embeddedCredential, which it need not have")
    credential = object_of(members, "embeddedCredential", service.accepted)
    expect(not flag_of(credential, "publiclyTrusted", service.accepted), "publiclyTrusted is true", service.accepted)


def _accepted(service: Subject) -> dict[str, object]:
    """Give the answer to the one file that the user knows to be accepted."""
    members = dict(success_members(service.accepted))
    if members.get("good") is not True:
        raise NotTried("the one file is not accepted; see verdicts-accepted-one-file-is-valid")
    return members


def _what_stays(reply: Reply) -> dict[str, object]:
    """Give what is the credential's own: notes and grades are for reports, and may come later."""
    return {name: success_members(reply).get(name) for name in _SAME}
