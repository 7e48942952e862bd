"""Tenants: what belongs to one is not given to another, and what an invalid, rotated or expired key may do."""

from partner_conformance.assertions import expect, objects_of, success_members, text_of
from partner_conformance.definition import check
from partner_conformance.operations import ERASE, KEYS, PROOFS, ROTATE
from partner_conformance.replies import NotTried, Reply
from partner_conformance.subject import MADE_UP, Subject, a_made_up_key

_CALLS = 11
_UPLOAD_CALLS = 2


@check(calls=_CALLS + 2 + _UPLOAD_CALLS)
def authentication_3_invalid_key_is_refused_everywhere(service: Subject) -> None:
    """An invalid key is refused with 403 by every operation."""
    key = a_made_up_key()
    for operation, call in service.correct_calls():
        service.expect_status(service.wire.ask(operation, key=key, **call), 403, "with a made-up key")
    for operation in (ROTATE, ERASE):
        reply = service.wire.ask(operation, key=key, proof_id=MADE_UP)
        service.expect_status(reply, 403, "with a made-up key")


@check(calls=_CALLS + _UPLOAD_CALLS, needs=("grace_key",))
def authentication_5_rotated_key_keeps_working(service: Subject) -> None:
    """A key that was rotated less than 72 hours ago works for every operation."""
    service.expect_accepted_everywhere(service.inputs.grace_key or "", "the rotated key")


@check(calls=_CALLS + _UPLOAD_CALLS, needs=("expired_key",))
def authentication_5_expired_key_is_403(service: Subject) -> None:
    """A key that was rotated more than 72 hours ago is refused with 403 by every operation."""
    for operation, call in service.correct_calls():
        reply = service.wire.ask(operation, key=service.inputs.expired_key, **call)
        service.expect_status(reply, 403, "with an expired key")


@check(calls=2, needs=("other_key",))
def authentication_4_keys_are_the_tenants_own(service: Subject) -> None:
    """The list of keys has only the caller's own keys: no key is in the lists of two tenants."""
    reply = service.wire.ask(KEYS, key=service.inputs.other_key)
    theirs = {text_of(key, "keyId", reply) for key in objects_of(success_members(reply), "keys", reply)}
    expect(not theirs & set(service.key_ids), "a key is listed for both tenants", reply, service.inventory)


@check(calls=3, needs=("other_key",))
def authentication_4_cursor_opens_no_other_list(service: Subject) -> None:
    """A cursor of one tenant does not open its list to another tenant."""
    first = service.wire.ask(PROOFS, query={"limit": "1"})
    cursor = success_members(first).get("nextCursor")
    if not isinstance(cursor, str):
        raise NotTried("this key has fewer than 2 proofs")
    ours = {text_of(item, "proofId", service.listing) for item in service.items}
    reply = service.wire.ask(PROOFS, key=service.inputs.other_key, query={"limit": "100", "cursor": cursor})
    theirs = _ids(reply)
    expect(not ours & theirs, "a cursor shows the proofs of its tenant to another tenant", first, reply)


@check(calls=2 + _UPLOAD_CALLS, needs=("other_key",))
def authentication_4_upload_is_the_tenants_own(service: Subject) -> None:
    """The upload of one tenant is not verified for another: it reads like an upload that never was."""
    _, upload_id = service.unreadable if service.inputs.one_file is None else service.accepted_upload
    theirs = service.verify(upload_id, key=service.inputs.other_key)
    unknown = service.verify(MADE_UP, key=service.inputs.other_key)
    expect(theirs.members.get("good") is not True, "another tenant's upload is verified as good", theirs)
    is_told = theirs.status == theirs.operation.success and unknown.status != unknown.operation.success
    expect(not is_told, "another tenant's upload gets a verdict, an unknown one does not", theirs, unknown)


def _ids(reply: Reply) -> set[str]:
    if reply.status != reply.operation.success:
        return set()
    return {text_of(item, "proofId", reply) for item in objects_of(reply.document, "items", reply)}
