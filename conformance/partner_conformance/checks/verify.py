"""POST /verify: the request, and the members of the answer."""

import json
from collections.abc import Mapping
from contextlib import suppress

from partner_conformance.assertions import expect, flag_of, object_of, seconds_of, success_members, text_of
from partner_conformance.definition import check
from partner_conformance.operations import VERIFY
from partner_conformance.replies import NotTried, Reply
from partner_conformance.subject import Subject

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


@check(calls=4, needs=("one_file",))
def endpoints_11_acceptance_repeats_identically(service: Subject) -> None:
    """An accepted credential that is verified again has the same answer."""
    first, upload_id = service.accepted_upload
    for _ in range(2):
        again = service.verify(upload_id)
        is_same = again.status == first.status and _constant_members(again) == _constant_members(first)
        expect(is_same, "the repeated call has another answer", first, again)


@check(calls=2, needs=("one_file",))
def resources_verify_optional_members(service: Subject) -> None:
    """Of the optional members `classification` is a string, `interpretation` and `embeddedCredential` are objects."""
    members = _accepted(service)
    for name in ("interpretation", "embeddedCredential"):
        if name in members:
            object_of(members, name, service.accepted)
    if "classification" in members:
        text_of(members, "classification", service.accepted)


@check(calls=3, needs=("one_file",))
def resources_song_is_the_same_everywhere(service: Subject) -> None:
    """`song` and `proofId` of a verification are those of the list of proofs."""
    members = _accepted(service)
    listed = _listed(service, members)
    is_same = listed.get("song") == members.get("song")
    expect(is_same, "song differs between the list and the verification", service.listing, service.accepted)


@check(calls=2, needs=("pair", "sidecar_field"))
def resources_verify_fields_of_a_pair(service: Subject) -> None:
    """The answer for an accepted pair has `proofId`, `song`, and `issuedAt` in whole unix seconds."""
    members = success_members(service.accepted_pair)
    text_of(members, "proofId", service.accepted_pair)
    expect(isinstance(members.get("song"), str), "song is not a string", service.accepted_pair)
    seconds_of(members, "issuedAt", service.accepted_pair)


@check(calls=3, needs=("pair", "sidecar_field"))
def resources_issued_at_of_a_pair_is_the_same(service: Subject) -> None:
    """`issuedAt` of a pair is the same in a verification and in the list of proofs."""
    members = success_members(service.accepted_pair)
    is_same = _listed(service, members).get("issuedAt") == members.get("issuedAt")
    expect(is_same, "issuedAt differs between the list and the verification", service.listing, service.accepted_pair)


@check(calls=2, needs=("pair", "sidecar_field"))
def resources_issued_at_is_the_documents(service: Subject) -> None:
    """`issuedAt` equals the proof document's `createdAt`, where the sidecar can be read as JSON."""
    written = _created_at(service.pair[1])
    if len(written) != 1:
        raise NotTried("the sidecar has no readable createdAt")
    told = success_members(service.accepted_pair).get("issuedAt")
    expect(told == written.pop(), "issuedAt differs from the sidecar's createdAt", service.accepted_pair)


@check(calls=1)
def endpoints_11_body_that_is_no_json_is_400(service: Subject) -> None:
    """A body with invalid JSON is refused with 400."""
    reply = service.wire.ask(VERIFY, body=b'{"uploadId": ', headers={"content-type": "application/json"})
    service.expect_status(reply, 400, "with half a JSON object")


@check(calls=5)
def endpoints_11_upload_id_is_required(service: Subject) -> None:
    """A body without `uploadId`, or with a number or null in its place, is refused with 400."""
    service.expect_status(service.wire.ask(VERIFY, body={}), 400, "without uploadId")
    for wrong in (7, None):
        service.expect_status(service.wire.ask(VERIFY, body={"uploadId": wrong}), 400, f"with {wrong} as uploadId")


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
    is_same = _listed(service, members).get("issuedAt") == members.get("issuedAt")
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


def _listed(service: Subject, members: Mapping[str, object]) -> Mapping[str, object]:
    """Return the list's item of a verified proof."""
    listed = [item for item in service.items if item.get("proofId") == members.get("proofId")]
    if not listed:
        raise NotTried("the proof is not among this key's newest 100")
    return listed[0]


def _created_at(sidecar: bytes) -> set[int]:
    """Return the values of `createdAt` in a sidecar; none if it is not JSON."""
    found: set[int] = set()

    def note(members: dict[str, object]) -> None:
        if isinstance(created := members.get("createdAt"), int):
            found.add(created)

    with suppress(ValueError, RecursionError):
        json.loads(sidecar, object_hook=note)
    return found


def _constant_members(reply: Reply) -> dict[str, object]:
    """Return the members that never change; the report-only ones may appear later."""
    return {name: success_members(reply).get(name) for name in _CONSTANT}
