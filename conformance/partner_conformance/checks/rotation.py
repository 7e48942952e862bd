"""POST /partner/keys/rotate: these checks run only if named; the new key is saved to a file."""

from partner_conformance.assertions import expect, header_number, seconds_of, success_members, text_of
from partner_conformance.checks.verdicts import expect_verdict
from partner_conformance.operations import KEYS, PROOFS, USAGE
from partner_conformance.pages import ids_of
from partner_conformance.rotating import idempotency_key_of, request_rotation, rotating, rotation_of
from partner_conformance.subject import Subject

# Contract, Limits: the key grace window.
_GRACE_SECONDS = 72 * 3600
# Chosen: how far the service's clock may differ from ours.
_TOLERANCE_SECONDS = 600


@rotating(calls=3)
def rotate_needs_an_idempotency_key(service: Subject) -> None:
    """A rotation without `Idempotency-Key`, or with one of 15 or of 129 characters, is refused with 400."""
    for length in (None, 15, 129):
        reply = request_rotation(service, None if length is None else "x" * length)
        service.expect_status(reply, 400, f"with an Idempotency-Key of {length or 'no'} characters")


@rotating(calls=1)
def rotate_answers_201_with_a_new_key(service: Subject) -> None:
    """A rotation is answered with 201, a new key, its id and name, and the quota in `X-RateLimit-Limit`."""
    rotation = rotation_of(service)
    expect(rotation.members["apiKey"] != service.wire.key, "the new secret is the old one", rotation.reply)
    expect(rotation.members.get("keyId") not in service.key_ids, "the new key has an old id", rotation.reply)
    text_of(rotation.members, "name", rotation.reply)
    header_number(rotation.reply, "X-RateLimit-Limit")
    is_marked = rotation.reply.headers.get("idempotency-replayed") == "true"
    expect(not is_marked, "the first answer is marked as a replay", rotation.reply)


@rotating(calls=14)
def rotate_old_key_works_everywhere(service: Subject) -> None:
    """In its grace window the old key works for every operation."""
    rotation_of(service)
    service.expect_accepted_everywhere(service.wire.key, "the old key in its grace window")


@rotating(calls=14)
def rotate_new_key_works_everywhere(service: Subject) -> None:
    """The new key works for every operation."""
    new = str(rotation_of(service).members["apiKey"])
    service.expect_accepted_everywhere(new, "the key that a rotation made")


@rotating(5, "one_file")
def rotate_both_keys_verify_alike(service: Subject) -> None:
    """A key that was just rotated, and the new one, verify an accepted credential as `valid`."""
    new = str(rotation_of(service).members["apiKey"])
    for key in (service.wire.key, new):
        upload_id = service.stored(service.one_file)
        expect_verdict(service.verify(upload_id, key=key), "valid")


@rotating(calls=7)
def rotate_new_key_is_of_the_same_tenant(service: Subject) -> None:
    """The new key lists the same keys and the same proofs as the old one, and has the same plan."""
    new = str(rotation_of(service).members["apiKey"])
    for operation in (KEYS, PROOFS):
        ours, theirs = service.wire.ask(operation), service.wire.ask(operation, key=new)
        lists = set(ids_of(ours)), set(ids_of(theirs))  # of proofs, others may be issued meanwhile
        is_same = lists[0] == lists[1] if operation is KEYS else bool(lists[0] & lists[1]) or lists[0] == lists[1]
        expect(is_same, "the new key has another list than the old one", ours, theirs)
    usages = [service.wire.ask(USAGE, key=key, query={"days": "1"}) for key in ("", new)]
    plans = [success_members(usage).get("plan") for usage in usages]
    expect(plans[0] == plans[1], "the new key has another plan", *usages)


@rotating(calls=1)
def rotate_old_key_expires_72_hours_later(service: Subject) -> None:
    """`previousKeyExpiresAt` is 72 hours after the rotation, in whole unix seconds."""
    rotation = rotation_of(service)
    grace = seconds_of(rotation.members, "previousKeyExpiresAt", rotation.reply) - rotation.completed_at
    is_right = abs(grace - _GRACE_SECONDS) < _TOLERANCE_SECONDS
    expect(is_right, f"the old key expires after {grace / 3600:.1f} hours, not 72", rotation.reply)


@rotating(calls=3)
def rotate_again_is_409(service: Subject) -> None:
    """A second rotation, with an `Idempotency-Key` of 128 characters or in other capitals, is refused with 409."""
    rotation_of(service)
    first = idempotency_key_of(service)
    for other in {"y" * 128, first.swapcase()} - {first}:
        service.expect_status(request_rotation(service, other), 409, "after a rotation, with another Idempotency-Key,")
