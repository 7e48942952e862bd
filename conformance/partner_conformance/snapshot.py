"""What a key sees of the service at one moment, to compare before and after an action: nothing else may change."""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from hashlib import sha256

from partner_conformance.assertions import expect, links_in, objects_of, success_members
from partner_conformance.caller import Caller
from partner_conformance.operations import ASSET, INTERPRETATION, KEYS, PROOF, PROOFS, USAGE
from partner_conformance.replies import NoAnswer, Reply
from partner_conformance.sounds import is_wav

# The keyed calls of one snapshot, and those for each further proof.
CALLS, CALLS_FOR_A_PROOF = 3, 3

Values = Mapping[tuple[str, str, str], object]
"""A value by its kind (`keys`, `proofs`, `record` …), the id of its entry, and its member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What a key sees: the keys, the newest proofs, some proofs as a whole, and the usage.

    Attributes:
        values: each member of each entry.
        used: the calls of today; None if usage has no day or no count.
        day: the label of today.
        calls: the keyed calls that the suite had made with the key, this snapshot's last one included.
        replies: the replies it was read from.
    """

    values: Values = field(repr=False)
    used: float | None
    day: str
    calls: int
    replies: tuple[Reply, ...] = field(repr=False)

    def changes(self, after: "Snapshot", allowed: Collection[str] = ()) -> list[str]:
        """Return what differs, as `kind: member`, once each; `allowed` has patterns of `kind/id/member`.

        Proofs that appeared were issued meanwhile; those at the end of the list then fall off it.
        """
        both = {**self.values, **after.values}
        is_longer = any(kind == "proofs" and (kind, each, name) not in self.values for kind, each, name in after.values)
        found = [
            f"{kind}: {name}"
            for kind, each, name in both
            if self.values.get((kind, each, name)) != after.values.get((kind, each, name))
            and not (
                kind == "proofs"
                and is_longer
                and ((kind, each, name) in self.values) != ((kind, each, name) in after.values)
            )
            and not any(fnmatchcase(f"{kind}/{each}/{name}", pattern) for pattern in allowed)
        ]
        return list(dict.fromkeys(found))

    def uncounted(self, after: "Snapshot") -> str:
        """Say so if fewer calls were counted than were made; nothing over midnight, or if usage tells no count."""
        if self.used is None or after.used is None or self.day != after.day:
            return ""
        calls, counted = after.calls - self.calls, after.used - self.used
        return f"{calls} keyed calls raised used by {counted:g}" if counted < calls else ""


def snapshot(service: Caller, proof_ids: Iterable[str] = (), *, key: str = "") -> Snapshot:
    """Read what a key sees: by default the suite's own."""
    began = len(service.wire.replies)
    values: dict[tuple[str, str, str], object] = {}
    for operation, kind, query in ((KEYS, "keys", {}), (PROOFS, "proofs", {"limit": "100"})):
        reply = service.wire.ask(operation, key=key, query=query)
        for item in objects_of(success_members(reply), "keys" if kind == "keys" else "items", reply):
            entry = str(item.get("keyId" if kind == "keys" else "proofId"))
            values |= {(kind, entry, name): repr(value) for name, value in item.items()}
    for proof_id in proof_ids:
        values |= _of_proof(service, proof_id, key)
    usage = service.wire.ask(USAGE, key=key, query={"days": "1"})
    members = success_members(usage)
    plan = members.get("plan")
    values |= {("plan", "", name): repr(value) for name, value in (plan if isinstance(plan, dict) else {}).items()}
    used, day = _today(members)
    calls, replies = service.wire.calls_of(key), tuple(service.wire.replies[began:])
    return Snapshot(values=values, used=used, day=day, calls=calls, replies=replies)


def expect_nothing_changes(
    service: Caller, action: Callable[[], object], proof_ids: Collection[str], allowed: Collection[str] = ()
) -> None:
    """Expect that an action changes nothing but what is allowed, and that each keyed call is counted."""
    before = snapshot(service, proof_ids)
    action()
    after = snapshot(service, proof_ids)
    changes = before.changes(after, allowed)
    expect(not changes, f"it has changed {', '.join(changes[:6])}", *before.replies[:2], *after.replies[:2])
    uncounted = before.uncounted(after)
    expect(not uncounted, uncounted, before.replies[-1], after.replies[-1])


def _of_proof(service: Caller, proof_id: str, key: str) -> Values:
    """Return a proof's record, its interpretation, and the digest of the audio behind its link."""
    values: dict[tuple[str, str, str], object] = {}
    record = service.wire.ask(PROOF, key=key, proof_id=proof_id)
    values |= {("record", proof_id, name): repr(value) for name, value in record.members.items() if not record.is_error}
    note = service.wire.ask(INTERPRETATION, key=key, proof_id=proof_id)
    asset = service.wire.ask(ASSET, key=key, proof_id=proof_id)
    values["record", proof_id, "status"] = record.status
    values["interpretation", proof_id, "status"] = note.status
    is_pending = note.members.get("status") == "pending"  # it may be ready at any time
    values["interpretation", proof_id, "state"] = "ready" if is_pending else note.members.get("status")
    values["asset", proof_id, "status"] = asset.status
    if asset.status == ASSET.success:
        values["asset", proof_id, "audio"] = sha256(download_wav(service, links_in(asset.members)) or b"").hexdigest()
    return values


def download_wav(service: Caller, links: Iterable[str]) -> bytes | None:
    """Return the first WAV behind some links; a link that is down does not count against the others."""
    for link in links:
        with suppress(NoAnswer):
            status, content = service.wire.elsewhere.download(link)
            if status == ASSET.success and is_wav(content):
                return content
    return None


def _today(members: Mapping[str, object]) -> tuple[float | None, str]:
    """Return the calls of today and the day's label."""
    match members.get("days"):
        case [{"used": int() | float() | str() as used, "date": day}] if str(used).replace(".", "", 1).isdigit():
            return float(used), str(day)
        case _:
            return None, ""
