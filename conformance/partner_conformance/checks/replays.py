"""The replay of a completed rotation, and at last the lane of rotation (contract, Endpoints 3)."""

from partner_conformance.assertions import expect, success_members
from partner_conformance.operations import KEYS, ROTATE, USAGE
from partner_conformance.pages import ids_of
from partner_conformance.replies import NotTried, Reply, Violation
from partner_conformance.rotating import replay_needs_its_key, replay_of, rotate_twice_at_once, rotating, rotation_of
from partner_conformance.subject import Subject, a_made_up_key

# Chosen: rotations in a row to cause a 429 in their low lane; more use more of the quota.
_MOST_REPLAYS = 30
# Chosen: another user of the key may throttle usage once or twice.
_LANE_ROUNDS = 3


@rotating(calls=2)
def rotate_replays_the_same_answer(service: Subject) -> None:
    """The same `Idempotency-Key` replays the answer: 201, the same members, and `idempotency-replayed: true`."""
    first, again = rotation_of(service), replay_of(service)
    members = success_members(again)
    for name in ("apiKey", "keyId", "name", "previousKeyExpiresAt"):
        expect(members.get(name) == first.members.get(name), f"the replay has another {name}", first.reply, again)
    expect(again.headers.get("idempotency-replayed") == "true", "the replay has no idempotency-replayed: true", again)


@rotating(calls=2)
def rotate_replay_needs_the_key(service: Subject) -> None:
    """The Idempotency-Key alone replays nothing: without a valid key it is refused with 403."""
    for key in (None, a_made_up_key()):
        service.expect_status(replay_needs_its_key(service, key), 403, "with the Idempotency-Key and no valid key")


@rotating(4, "grace_key")
def rotate_other_tenant_gets_no_replay(service: Subject) -> None:
    """The Idempotency-Key of one tenant replays nothing to another one, whose key is rotated already: 409."""
    rotation_of(service)
    theirs = replay_needs_its_key(service, service.inputs.grace_key)
    service.expect_status(theirs, 409, "with another tenant's Idempotency-Key, of a rotated key,")


@rotating(calls=6)
def rotate_simultaneous_rotations_make_one_key(service: Subject) -> None:
    """The new key can be rotated; two simultaneous rotations with one Idempotency-Key make at most one key."""
    new = str(rotation_of(service).members["apiKey"])
    before = set(ids_of(service.wire.ask(KEYS)))
    replies = rotate_twice_at_once(service, new)
    for reply in replies:
        service.expect_status(reply, {201, 409, 429}, "of the new key, twice at once,")
    expect(any(reply.status == ROTATE.success for reply in replies), "the new key cannot be rotated", *replies)
    made = set(ids_of(service.wire.ask(KEYS))) - before
    expect(len(made) <= 1, f"{len(made)} keys were made", *replies)


@rotating(calls=1 + _LANE_ROUNDS * (_MOST_REPLAYS + 2))
def rotate_has_a_lane_of_its_own(service: Subject) -> None:
    """Rotation has its own throttle lane: while rotation is throttled, usage is not."""
    rotation_of(service)
    for _ in range(_LANE_ROUNDS):
        success_members(service.wire.ask(USAGE, query={"days": "1"}))  # waits for the lane of all other calls
        rotation = _throttled_replay(service)
        other = service.wire.ask(USAGE, query={"days": "1"}, waits=False)
        if not other.is_throttled or _wait_seconds(other) < _wait_seconds(rotation) / 2:
            return
    raise Violation("while rotation is throttled, usage is throttled too", (rotation, other))


def _throttled_replay(service: Subject) -> Reply:
    for _ in range(_MOST_REPLAYS):
        reply = replay_of(service, waits=False)
        if reply.is_throttled:
            return reply
    raise NotTried(f"{_MOST_REPLAYS} replays in a row were not throttled")


def _wait_seconds(reply: Reply) -> float:
    return reply.told_wait_seconds or 0.0
