"""Nothing else changes: whole snapshots before and after each action (contract, States and Limits)."""

from partner_conformance import sounds
from partner_conformance.assertions import expect, text_of
from partner_conformance.definition import check
from partner_conformance.operations import KEYS, PROOF, USAGE
from partner_conformance.replies import NotTried
from partner_conformance.rotating import replay_of, request_rotation, rotating, rotation_of
from partner_conformance.snapshot import CALLS, CALLS_FOR_A_PROOF, expect_nothing_changes, snapshot
from partner_conformance.subject import MADE_UP, Subject

_BOTH = 2 * (CALLS + 2 * CALLS_FOR_A_PROOF)
_CALLS = 5


@check(calls=2 + _BOTH + _CALLS)
def endpoints_reading_changes_nothing(service: Subject) -> None:
    """Reading, and calls that are refused, change nothing, and each keyed call is counted."""

    def read() -> None:
        for operation, call in ((PROOF, {"proof_id": MADE_UP}), (KEYS, {"query": {"limit": "0"}})):
            service.wire.ask(operation, **call)

    expect_nothing_changes(service, read, _proofs_of(service))


@check(calls=8 + _BOTH + 3)
def endpoints_11_verification_changes_nothing(service: Subject) -> None:
    """A verification has no side effects: keys, proofs, records, interpretations and audio are as before."""

    def verify() -> None:
        service.verified(sounds.silence())
        if service.inputs.one_file is not None:
            service.verified(service.one_file)
        if service.inputs.pair is not None and service.inputs.sidecar_field is not None:
            service.verified(*service.pair)

    expect_nothing_changes(service, verify, _proofs_of(service))


@check(calls=10, needs=("second_key",))
def limits_keys_have_counts_of_their_own(service: Subject) -> None:
    """The quota is per key: the calls of one key are not counted for another one of its tenant."""
    second, counts = service.inputs.second_key or "", []
    for _ in range(2):
        counts.append(snapshot(service, key=second))
        for _ in range(2):
            service.wire.ask(USAGE, query={"days": "1"})
    first, then = counts
    if first.used is None or then.used is None or then.used < first.used:
        raise NotTried("usage has no count of today")
    theirs, grown = then.calls - first.calls, then.used - first.used
    expect(grown != theirs + 2, "a key's count grows with another key's calls", first.replies[-1], then.replies[-1])


@rotating(calls=2 + 2 * _BOTH + 2)
def rotate_changes_one_key_alone(service: Subject) -> None:
    """A rotation adds one key, with its name, and may change the status of the calling key: nothing else."""
    rotation = rotation_of(service)
    before, after = rotation.before, snapshot(service)
    new_id = text_of(rotation.members, "keyId", rotation.reply)
    changes = before.changes(after, (f"keys/{new_id}/*", "keys/*/status"))
    expect(not changes, f"it has changed {', '.join(changes)}", rotation.reply, after.replies[0])
    name = after.values.get(("keys", new_id, "name"))
    expect(name == repr(rotation.members.get("name")), "the list names the new key otherwise", after.replies[0])
    changed = [path for path in before.values if path[0] == "keys" and before.values[path] != after.values.get(path)]
    expect(len(changed) <= 1, f"{len(changed)} keys have another status", rotation.reply, after.replies[0])


@rotating(calls=5 + _BOTH)
def rotate_refusals_change_nothing(service: Subject) -> None:
    """A replay, and a rotation that is refused with 400 or 409, make no key and change none."""
    rotation_of(service)

    def refused() -> None:
        replay_of(service)
        for idempotency_key in (None, "x" * 15, "z" * 32):
            request_rotation(service, idempotency_key)

    expect_nothing_changes(service, refused, _proofs_of(service))


def _proofs_of(service: Subject) -> list[str]:
    """Return the proof to read as a whole, if the tenant has one."""
    return [service.known_proof] if service.known_proof != MADE_UP else []
