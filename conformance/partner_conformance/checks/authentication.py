"""Authentication: keys, and the tenants that they belong to."""

from partner_conformance.assertions import expect, objects_of, success_members, text_of
from partner_conformance.definition import Risk, check
from partner_conformance.operations import ASSET, INTERPRETATION, OPERATIONS, PROOF, PROOFS, USAGE
from partner_conformance.replies import NotTried
from partner_conformance.subject import MADE_UP, Subject


@check(calls=0)
def authentication_2_every_operation_needs_a_key(service: Subject) -> None:
    """Every operation except health needs a key: without one it is refused with 403."""
    for operation in OPERATIONS:
        if not operation.is_public:
            service.expect_status(service.wire.ask(operation, key=None, proof_id=MADE_UP), 403, "without a key")


@check(calls=1)
def authentication_2_empty_key_is_403(service: Subject) -> None:
    """An empty key is refused with 403."""
    reply = service.wire.ask(USAGE, key=None, headers={"x-api-key": ""})
    service.expect_status(reply, 403, "with an empty key")


@check(calls=1)
def authentication_2_id_alone_is_not_enough(service: Subject) -> None:
    """The record, the asset and the interpretation of an existing proof are refused with 403 without a key."""
    for operation in (PROOF, ASSET, INTERPRETATION):
        reply = service.wire.ask(operation, key=None, proof_id=service.a_proof)
        service.expect_status(reply, 403, "with an id and without a key")


@check(calls=3)
def authentication_3_almost_the_key_is_403(service: Subject) -> None:
    """A key that lacks a character, has one more or has other capitals is refused with 403."""
    key = service.wire.key
    for other in {key[:-1], f"{key}0", key.swapcase()} - {key}:
        service.expect_status(service.wire.ask(USAGE, key=other), 403, "with a key that is almost the right one")


@check(calls=2, risk=Risk.EXPOSES)
def authentication_1_key_in_the_url_is_refused(service: Subject) -> None:
    """A key in the URL is not read: the call is refused with 403."""
    for names in (("x-api-key",), ("api_key", "apiKey", "key")):
        reply = service.wire.ask(USAGE, key=None, query=dict.fromkeys(names, service.wire.key))
        service.expect_status(reply, 403, "with the key in the URL")


@check(calls=1)
def authentication_1_key_is_taken(service: Subject) -> None:
    """The service accepts the key in the header `x-api-key`."""
    success_members(service.usage)


@check(calls=2, needs=("other_key",))
def authentication_4_listing_is_the_tenants_own(service: Subject) -> None:
    """A list has only the caller's own proofs: no proof is in the lists of two tenants."""
    reply = service.wire.ask(PROOFS, key=service.inputs.other_key, query={"limit": "100"})
    theirs = {text_of(item, "proofId", reply) for item in objects_of(success_members(reply), "items", reply)}
    ours = {text_of(item, "proofId", service.listing) for item in service.items}
    if not ours and not theirs:
        raise NotTried("neither tenant has a proof")
    expect(not ours & theirs, "a proof is listed for both tenants", reply, service.listing)


@check(calls=1, needs=("other_environment_key",))
def authentication_6_other_environments_key_is_403(service: Subject) -> None:
    """A key of another environment is refused with 403."""
    reply = service.wire.ask(USAGE, key=service.inputs.other_environment_key)
    service.expect_status(reply, 403, "with the other environment's key")
