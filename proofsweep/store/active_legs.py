"""Which legs are worked on now, by whom and how far they are, and how they are asked to stop."""

import json
import socket
from contextlib import suppress

from proofsweep.domain.errors import NameTaken
from proofsweep.domain.runs import Claim, ClockReading
from proofsweep.store import layout
from proofsweep.store.lease import sign_in
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.progress import LegProgress, OpenLeg, progress_in
from proofsweep.store.store import json_bytes, read_object


def progress_of(results: Results, run_id: str) -> OpenLeg | None:
    """Return the last leg of a run, and how far it was at its last heartbeat; None if it has ended, or none began."""
    legs = Legs(results, run_id)
    last = legs.last()
    claim = legs.holder(last) if last and legs.receipt(last) is None else None
    return None if claim is None else open_leg(legs, last, claim)


def open_leg(legs: Legs, leg: int, claim: Claim) -> OpenLeg:
    content = legs.results.store.read(layout.heartbeat_name(legs.run_id, leg))
    now, beaten = legs.now(), sign_in(content) or claim.claimed
    return OpenLeg(
        run_id=legs.run_id,
        leg=leg,
        claim=claim,
        beaten_at=beaten.at,
        age_seconds=_age_seconds(beaten, now),
        is_gone=legs.is_gone(leg, claim),
        progress=_progress_in(content),
    )


def ask_to_stop(results: Results, leg: OpenLeg) -> bool:
    """Ask the process of a leg to stop in good order; return whether nobody had asked it before.

    The request is for this process alone: it never stops a later leg, nor another claim of the same leg.
    """
    request = {"asked_at": Legs(results, leg.run_id).clock().isoformat(), "host": socket.gethostname()}
    try:
        results.store.create(layout.stop_name(leg.run_id, leg.leg, leg.claim.token), json_bytes(request))
    except NameTaken:
        return False
    return True


def stop_asked_on(legs: Legs, leg: int, token: str) -> str | None:
    """Return on which machine somebody asked the process of a leg to stop; None if nobody did."""
    request = read_object(legs.results.store, layout.stop_name(legs.run_id, leg, token))
    return None if request is None else str(request.get("host"))


def _age_seconds(beaten: ClockReading, now: ClockReading) -> float:
    if beaten.boot == now.boot != "":  # the clock of a boot never jumps
        return max(0.0, now.uptime_seconds - beaten.uptime_seconds)
    return abs((now.at - beaten.at).total_seconds())  # one from the future shows a wrong clock


def _progress_in(content: bytes | None) -> LegProgress | None:
    with suppress(ValueError, AttributeError):
        return progress_in(json.loads(content or b"").get("progress"))
    return None
