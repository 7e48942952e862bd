"""POST /verify: the request, and the members of the answer."""

import json
from collections.abc import Mapping
from contextlib import suppress

from partner_conformance.assertions import expect, success_members
from partner_conformance.definition import check
from partner_conformance.replies import NotTried, Reply
from partner_conformance.subject import Subject

_CONSTANT = ("good", "verdict", "proofId", "song", "issuedAt")
_GRADE = ("human", "ai", "unknown", "riskCategory", "rubricVersion")


@check(calls=8)
def endpoints_11_verify_repeats_identically(service: Subject) -> None:
    """The same verification, made three times, gives the same answer: of no credential, and of an accepted one."""
    uploads = [service.unreadable, *([] if service.inputs.one_file is None else [service.accepted_upload])]
    for first, upload_id in uploads:
        for _ in range(2):
            again = service.verify(upload_id)
            is_same = again.status == first.status and _constant_members(again) == _constant_members(first)
            expect(is_same, "the repeated call has another answer", first, again)


@check(calls=3, needs=("one_file",))
def resources_verification_agrees_with_the_list(service: Subject) -> None:
    """`song` and `issuedAt` of an accepted one-file are those of the list of proofs."""
    _expect_as_listed(service, _accepted(service), service.accepted)


@check(calls=3, needs=("pair", "sidecar_field"))
def resources_verification_of_a_pair_agrees_with_the_list(service: Subject) -> None:
    """`song` and `issuedAt` of an accepted pair are those of the list of proofs."""
    _expect_as_listed(service, success_members(service.accepted_pair), service.accepted_pair)


@check(calls=2, needs=("pair", "sidecar_field"))
def resources_issued_at_is_the_documents(service: Subject) -> None:
    """`issuedAt` equals the proof document's `createdAt`, where the sidecar can be read as JSON."""
    written = _created_at(service.pair[1])
    if len(written) != 1:
        raise NotTried("the sidecar has no readable createdAt")
    told = success_members(service.accepted_pair).get("issuedAt")
    expect(told == written.pop(), "issuedAt differs from the sidecar's createdAt", service.accepted_pair)


def _accepted(service: Subject) -> dict[str, object]:
    """Return the members of the answer for the one file, if it is accepted."""
    members = dict(success_members(service.accepted))
    if members.get("good") is not True:
        raise NotTried("the one file is not accepted; see verdicts-accepted-one-file-is-valid")
    return members


def _expect_as_listed(service: Subject, members: Mapping[str, object], reply: Reply) -> None:
    listed = next((item for item in service.items if item.get("proofId") == members.get("proofId")), None)
    if listed is None:
        raise NotTried("the proof is not among this key's newest 100")
    for name in ("song", "issuedAt"):
        is_same = listed.get(name) == members.get(name)
        expect(is_same, f"{name} differs between the list and the verification", service.listing, reply)


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
