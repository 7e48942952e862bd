"""POST /partner/keys/rotate: these checks run only if named; the new key is saved to a file."""

import time
from collections.abc import Callable

from conformance.assertions import (
    expect,
    header_number,
    number_of,
    object_of,
    objects_of,
    seconds_of,
    success_members,
    text_of,
)
from conformance.definition import Check, Risk, check
from conformance.new_key_file import NewKeyFile
from conformance.operations import KEYS, ROTATE, USAGE
from conformance.replies import NotTried, Reply, Violation
from conformance.subject import Rotation, Subject

# Contract, Limits: the key grace window.
_GRACE_SECONDS = 72 * 3600
# Chosen: how far the service's clock may differ from ours.
_TOLERANCE_SECONDS = 600
# Chosen: rotations in a row to cause a 429 in their low lane; more use more of the quota.
_MOST_REPLAYS = 30
# Chosen: another user of the key may throttle usage once or twice.
_LANE_ROUNDS = 3


def _rotating(calls: int) -> Callable[[Callable[[Subject], None]], Check]:
    return check(calls=calls, needs=("new_key_file",), risk=Risk.ROTATES)


@_rotating(calls=1)
def rotate_needs_an_idempotency_key(service: Subject) -> None:
    """A rotation without `Idempotency-Key` is refused with 400."""
    service.expect_status(_request_rotation(service, None), 400, "without Idempotency-Key")


@_rotating(calls=2)
def rotate_bounds_the_idempotency_key(service: Subject) -> None:
    """An `Idempotency-Key` of 15 or of 129 characters is refused with 400."""
    for length in (15, 129):
        reply = _request_rotation(service, "x" * length)
        service.expect_status(reply, 400, f"with an Idempotency-Key of {length} characters")


@_rotating(calls=1)
def rotate_answers_201_with_a_new_key(service: Subject) -> None:
    """A rotation with an `Idempotency-Key` of 16 characters is answered with 201 and a new key."""
    rotation = _rotation(service)
    expect(rotation.members["apiKey"] != service.wire.key, "the new secret is the old one", rotation.reply)
    text_of(rotation.members, "keyId", rotation.reply)
    text_of(rotation.members, "name", rotation.reply)


@_rotating(calls=2)
def rotate_old_key_keeps_working(service: Subject) -> None:
    """The old key still works in its grace window."""
    _rotation(service)
    success_members(service.wire.ask(USAGE, query={"days": "1"}))


@_rotating(calls=2)
def rotate_new_key_is_listed(service: Subject) -> None:
    """The new key is in the list of keys."""
    rotation = _rotation(service)
    key_id = text_of(rotation.members, "keyId", rotation.reply)
    inventory = service.wire.ask(KEYS)
    listed = [text_of(key, "keyId", inventory) for key in objects_of(success_members(inventory), "keys", inventory)]
    expect(key_id in listed, "the new key is not in the list", rotation.reply, inventory)


@_rotating(calls=1)
def rotate_old_key_expires_72_hours_later(service: Subject) -> None:
    """`previousKeyExpiresAt` is 72 hours after the rotation, in whole unix seconds."""
    rotation = _rotation(service)
    grace = seconds_of(rotation.members, "previousKeyExpiresAt", rotation.reply) - rotation.completed_at
    is_right = abs(grace - _GRACE_SECONDS) < _TOLERANCE_SECONDS
    expect(is_right, f"the old key expires after {grace / 3600:.1f} hours, not 72", rotation.reply)


@_rotating(calls=1)
def rotate_tells_the_quota(service: Subject) -> None:
    """The answer to a rotation has the quota in `X-RateLimit-Limit`."""
    header_number(_rotation(service).reply, "X-RateLimit-Limit")


@_rotating(calls=2)
def rotate_replays_the_same_answer(service: Subject) -> None:
    """The same `Idempotency-Key` within 24 hours replays the answer: 201, same key id, same secret."""
    first, again = _rotation(service), _replay(service)
    members = success_members(again)
    for name in ("apiKey", "keyId"):
        expect(members.get(name) == first.members.get(name), f"the replay has another {name}", first.reply, again)


@_rotating(calls=2)
def rotate_marks_the_replay(service: Subject) -> None:
    """A replay has the header `idempotency-replayed: true`."""
    again = _replay(service)
    success_members(again)
    expect(again.headers.get("idempotency-replayed") == "true", "the replay has no idempotency-replayed: true", again)


@_rotating(calls=2)
def rotate_again_is_409(service: Subject) -> None:
    """A second rotation, with another `Idempotency-Key` of 128 characters, is refused with 409."""
    _rotation(service)
    service.expect_status(_request_rotation(service, "y" * 128), 409, "after a rotation, with another Idempotency-Key,")


@_rotating(calls=3)
def rotate_new_key_works_on_the_same_plan(service: Subject) -> None:
    """The new key works and has the same quota limit."""
    rotation = _rotation(service)
    new = service.wire.ask(USAGE, key=str(rotation.members["apiKey"]), query={"days": "1"})
    old = service.wire.ask(USAGE, query={"days": "1"})
    quotas = [number_of(object_of(success_members(each), "plan", each), "quotaLimit", each) for each in (new, old)]
    expect(quotas[0] == quotas[1], "the new key has another quota", new, old)


@_rotating(calls=1 + _LANE_ROUNDS * (_MOST_REPLAYS + 2))
def rotate_has_a_lane_of_its_own(service: Subject) -> None:
    """Rotation has its own throttle lane: while rotation is throttled, usage is not."""
    _rotation(service)
    for _ in range(_LANE_ROUNDS):
        success_members(service.wire.ask(USAGE, query={"days": "1"}))  # waits for the lane of all other calls
        rotation = _throttled_replay(service)
        other = service.wire.ask(USAGE, query={"days": "1"}, waits=False)
        if not other.is_throttled or _wait_seconds(other) < _wait_seconds(rotation) / 2:
            return
    raise Violation("while rotation is throttled, usage is throttled too", (rotation, other))


def _throttled_replay(service: Subject) -> Reply:
    for _ in range(_MOST_REPLAYS):
        reply = _replay(service, waits=False)
        if reply.is_throttled:
            return reply
    raise NotTried(f"{_MOST_REPLAYS} replays in a row were not throttled")


def _wait_seconds(reply: Reply) -> float:
    return reply.told_wait_seconds or 0.0


def _rotation(service: Subject) -> Rotation:
    """Rotate the key, once for all checks."""
    if service.rotation is None:
        reply = _request_rotation(service, _new_keys(service).idempotency_key)
        members = success_members(reply)
        text_of(members, "apiKey", reply)
        service.rotation = Rotation(reply=reply, members=members, completed_at=time.time())
    return service.rotation


def _replay(service: Subject, *, waits: bool = True) -> Reply:
    _rotation(service)
    return _request_rotation(service, _new_keys(service).idempotency_key, waits=waits)


def _request_rotation(service: Subject, idempotency_key: str | None, *, waits: bool = True) -> Reply:
    """Request a rotation; save any secret in the reply before anything else."""
    new_key_file = _new_keys(service)
    new_key_file.begin()
    headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
    reply = service.wire.ask(ROTATE, headers=headers, waits=waits)
    if isinstance(secret := reply.members.get("apiKey"), str) and secret:
        new_key_file.save(secret)
    return reply


def _new_keys(service: Subject) -> NewKeyFile:
    if service.new_key_file is None:
        raise NotTried("needs --new-key-file")
    return service.new_key_file
