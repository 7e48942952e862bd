"""Which legs are worked on now, by whom and how far they are, and how they are asked to stop."""

import json
import socket
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from proofsweep.errors import NameTaken
from proofsweep.model import layout
from proofsweep.model.progress import LegProgress, progress_in
from proofsweep.model.runs import STALE_SECONDS, Claim, ClockReading
from proofsweep.store.lease import is_gone, sign_in
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.store import json_bytes, read_object


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLeg:
    """A leg without a receipt: a process works on it, or was killed.

    Attributes:
        claim: which process claimed it.
        age_seconds: of its last sign of life; two machines' clocks may be compared for it.
        is_alive: whether it is still worked on, as far as this machine can tell.
        progress: how far it was then; None before its first heartbeat.
    """

    run_id: str
    leg: int
    claim: Claim
    beaten_at: datetime
    age_seconds: float
    is_alive: bool
    progress: LegProgress | None = None

    @property
    def where(self) -> str:
        """Which process it is, in words."""
        return f"process {self.claim.pid} on {self.claim.host}"

    @property
    def since(self) -> datetime:
        """When it was claimed."""
        return self.claim.claimed.at

    def document(self) -> dict[str, object]:
        """Return it for JSON."""
        return {
            "run_id": self.run_id,
            "leg": self.leg,
            "host": self.claim.host,
            "pid": self.claim.pid,
            "since": self.since.isoformat(timespec="seconds"),
            "sign_of_life_at": self.beaten_at.isoformat(timespec="seconds"),
            "sign_of_life_age_seconds": round(self.age_seconds, 1),
            "is_alive": self.is_alive,
            "progress": None if self.progress is None else self.progress.document(),
        }


def progress_of(results: Results, run_id: str) -> OpenLeg | None:
    """Return the last leg of a run, and how far it was at its last heartbeat; None if it has ended, or none began."""
    legs = Legs(results, run_id)
    last = legs.last()
    claim = legs.holder(last) if last and legs.receipt(last) is None else None
    return None if claim is None else open_leg(legs, last, claim)


def open_leg(legs: Legs, leg: int, claim: Claim) -> OpenLeg:
    """Read the last heartbeat of a leg whose claim is known."""
    content = legs.results.store.read(layout.heartbeat_name(legs.run_id, leg))
    now, beaten = legs.now(), sign_in(content) or claim.claimed
    age_seconds = _age_seconds(beaten, now)
    return OpenLeg(
        run_id=legs.run_id,
        leg=leg,
        claim=claim,
        beaten_at=beaten.at,
        age_seconds=age_seconds,
        is_alive=not is_gone(claim) and age_seconds <= STALE_SECONDS,
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
    """Return how old a sign of life is; within one boot by the clock that never jumps."""
    if beaten.boot == now.boot != "":
        return max(0.0, now.uptime_seconds - beaten.uptime_seconds)
    return abs((now.at - beaten.at).total_seconds())  # one from the future shows a wrong clock


def _progress_in(content: bytes | None) -> LegProgress | None:
    with suppress(ValueError, AttributeError):
        return progress_in(json.loads(content or b"").get("progress"))
    return None
