"""Authentication: keys, and the tenants that they belong to."""

from partner_conformance import operations
from partner_conformance.assertions import expect, success_members
from partner_conformance.definition import Risk, check
from partner_conformance.pages import ids_of
from partner_conformance.subject import MADE_UP, Subject, a_made_up_key

# A correct call of each operation, and what makes an upload.
_CALLS = 13


@check(calls=1)
def authentication_2_every_operation_needs_a_key(service: Subject) -> None:
    """Every operation except health needs a key, also with the id of a proof: without one it is refused with 403."""
    proof_id = service.known_proof
    for operation in operations.OPERATIONS:
        if not operation.is_public and operation is not operations.ERASE:
            service.expect_status(service.wire.ask(operation, key=None, proof_id=proof_id), 403, "without a key")
    service.expect_status(service.wire.ask(operations.ERASE, key=None, proof_id=MADE_UP), 403, "without a key")


@check(calls=4)
def authentication_3_almost_the_key_is_403(service: Subject) -> None:
    """An empty key, and one that lacks a character, has one more or has other capitals, is refused with 403."""
    reply = service.wire.ask(operations.USAGE, key=None, headers={"x-api-key": ""})
    service.expect_status(reply, 403, "with an empty key")
    key = service.wire.key
    for other in {key[:-1], f"{key}0", key.swapcase()} - {key}:
        service.expect_status(
            service.wire.ask(operations.USAGE, key=other), 403, "with a key that is almost the right one"
        )


@check(calls=2, risk=Risk.EXPOSES)
def authentication_1_key_in_the_url_is_refused(service: Subject) -> None:
    """A key in the URL is not read: the call is refused with 403."""
    for names in (("x-api-key",), ("api_key", "apiKey", "key")):
        reply = service.wire.ask(operations.USAGE, key=None, query=dict.fromkeys(names, service.wire.key))
        service.expect_status(reply, 403, "with the key in the URL")


@check(calls=1)
def authentication_1_key_is_taken(service: Subject) -> None:
    """The service accepts the key in the header `x-api-key`."""
    success_members(service.usage)


@check(calls=6, needs=("other_key",))
def authentication_4_lists_are_the_tenants_own(service: Subject) -> None:
    """No key and no proof is in the lists of two tenants, also not with the other tenant's cursor."""
    other = service.inputs.other_key
    keys = service.wire.ask(operations.KEYS, key=other)
    expect(set(ids_of(keys)).isdisjoint(service.key_ids), "a key is listed for both tenants", keys, service.inventory)
    cursor = success_members(service.wire.ask(operations.PROOFS, query={"limit": "1"})).get("nextCursor")
    queries = ({"limit": "100"}, *([{"limit": "100", "cursor": cursor}] if isinstance(cursor, str) else ()))
    for query in queries:
        reply = service.wire.ask(operations.PROOFS, key=other, query=query)
        theirs = ids_of(reply) if reply.status == operations.PROOFS.success else []
        said = f"a proof is listed for both tenants{', by the cursor' if 'cursor' in query else ''}"
        expect(set(theirs).isdisjoint(ids_of(service.listing)), said, reply, service.listing)


@check(calls=1, needs=("other_environment_key",))
def authentication_6_other_environments_key_is_403(service: Subject) -> None:
    """A key of another environment is refused with 403."""
    reply = service.wire.ask(operations.USAGE, key=service.inputs.other_environment_key)
    service.expect_status(reply, 403, "with the other environment's key")


@check(calls=_CALLS + 2)
def authentication_3_invalid_key_is_refused_everywhere(service: Subject) -> None:
    """An invalid key is refused with 403 by every operation."""
    key = a_made_up_key()
    for operation, call in service.correct_calls():
        service.expect_status(service.wire.ask(operation, key=key, **call), 403, "with a made-up key")
    for operation in (operations.ROTATE, operations.ERASE):
        reply = service.wire.ask(operation, key=key, proof_id=MADE_UP)
        service.expect_status(reply, 403, "with a made-up key")


@check(calls=_CALLS, needs=("grace_key",))
def authentication_5_rotated_key_keeps_working(service: Subject) -> None:
    """A key that was rotated less than 72 hours ago works for every operation."""
    service.expect_accepted_everywhere(service.inputs.grace_key or "", "the rotated key")


@check(calls=_CALLS, needs=("expired_key",))
def authentication_5_expired_key_is_403(service: Subject) -> None:
    """A key that was rotated more than 72 hours ago is refused with 403 by every operation."""
    for operation, call in service.correct_calls():
        reply = service.wire.ask(operation, key=service.inputs.expired_key, **call)
        service.expect_status(reply, 403, "with an expired key")


@check(calls=4, needs=("other_key",))
def authentication_4_upload_is_the_tenants_own(service: Subject) -> None:
    """The upload of one tenant is not verified for another: it reads like an upload that never was."""
    _, upload_id = service.unreadable if service.inputs.one_file is None else service.accepted_upload
    theirs = service.verify(upload_id, key=service.inputs.other_key)
    unknown = service.verify(MADE_UP, key=service.inputs.other_key)
    expect(theirs.members.get("good") is not True, "another tenant's upload is verified as good", theirs)
    is_told = theirs.status == theirs.operation.success and unknown.status != unknown.operation.success
    expect(not is_told, "another tenant's upload gets a verdict, an unknown one does not", theirs, unknown)
