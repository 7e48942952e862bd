"""How much of the key's quota a leg has spent, and whether another item may begin (contract, Limits)."""

import math
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime

from proofsweep.client.client import Partner
from proofsweep.config.threads import TIMEOUT_MAX, Event, RLock, StopSwitch
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CallFailed, RunMustStop
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.items import proof_id_of
from proofsweep.domain.runs import Bounds
from proofsweep.domain.text import reset_clause

CALLS_OF_A_FILE: AbstractSet[Call] = frozenset({Call.UPLOADS, Call.VERIFY})
CALLS_OF_A_PROOF = CALLS_OF_A_FILE | {Call.ASSET}
LAST_PROBE_CALLS = 1  # kept for the last probe of the headroom, which a leg makes when it ends
CALLS_TO_BEGIN = len(CALLS_OF_A_FILE) + LAST_PROBE_CALLS  # a quota with less begins no item
_UNKNOWN_SECONDS = 10.0  # between two probes, while a reserve cannot be kept
_NO_ROW = -1


def calls_of(audio: str) -> AbstractSet[Call]:
    """Return which keyed calls an item needs, by the location of its audio."""
    return CALLS_OF_A_FILE if proof_id_of(audio) is None else CALLS_OF_A_PROOF


@dataclass(slots=True)
class Budget:
    """What one leg may spend and has spent; safe to use from several threads.

    An item in flight is owed the calls that it still needs. The partner's headroom is the authority; after a reading of
    it, each keyed call that was sent counts as one (contract, Limits). When it runs out, items in flight are finished,
    and the leg stops.
    """

    bounds: Bounds
    partner: Partner
    stop: StopSwitch
    clock: Callable[[], datetime]  # a window closes by the wall clock
    probe_seconds: float = math.inf  # between two probes of the quota
    kept: int = LAST_PROBE_CALLS  # calls that no item may use
    quota_reset: datetime | None = None  # by the last reading
    ran_out: RunMustStop | None = None  # why no other item may begin
    spent: int = 0  # keyed calls
    _owed: dict[int, set[Call]] = field(default_factory=dict)
    _headroom: int | None = None
    _spent_before: int = 0  # of these calls, those that the headroom includes
    _lock: RLock = field(default_factory=RLock)
    _probing: RLock = field(default_factory=RLock)

    @property
    def left(self) -> int | None:
        """How many calls should be left in the key's quota; None if the service did not say."""
        with self._lock:
            return None if self._headroom is None else max(0, self._headroom - self.spent + self._spent_before)

    @property
    def in_flight(self) -> int:
        return len(self._owed)

    def admits(self, row: int, calls: AbstractSet[Call] = CALLS_OF_A_FILE) -> bool:
        """Whether an item that needs these calls may begin; `release` it afterwards.

        The quota is read before the leg gives up: it may have been reset, or other legs have left their part.
        """
        self.stop_at_closing()
        if self.stop.reason is not None or self.ran_out is not None:
            return False
        shortage = self._begin(row, calls)
        if shortage is EndedBy.QUOTA:
            with self._probing:
                shortage = self._begin(row, calls)
                if shortage is EndedBy.QUOTA and self.ran_out is None:
                    self.probe()
                    shortage = self._begin(row, calls)
        if shortage is not None:
            self._run_out(shortage)
        return shortage is None

    @contextmanager
    def for_probe(self) -> Iterator[None]:
        """Cover the calls of a probe that is made inside; RunMustStop if the leg ends instead.

        It may use calls that are owed to items in flight, since these wait for it. If there are none, the leg ends.
        """
        self.stop_at_closing()
        self.stop.check()
        is_short = self._begin(_NO_ROW, CALLS_OF_A_FILE) is not None
        if is_short and not self._owed and not self.admits(_NO_ROW):
            self.stop.check()
        try:
            yield
        finally:
            self.release(_NO_ROW)

    def release(self, row: int) -> None:
        """The last item in flight ends a leg that has run out."""
        with self._lock:
            self._owed.pop(row, None)
        self._stop_when_idle()

    def note(self, exchange: Exchange, row: int | None) -> None:
        if not exchange.is_charged:
            return
        with self._lock:
            self.spent += 1
            self._spent_before += exchange.call is Call.USAGE  # its own answer includes it
            if row is not None:
                self._owed.get(row, set()).discard(exchange.call)

    def take_reading(self, headroom: int | None, reset: datetime | None, spent: int | None = None) -> None:
        """Take the partner's figures; `spent` is how much this leg had spent when it asked, all if not given.

        The exchange that asked is noted afterwards. Calls that ended meanwhile count as not included.
        """
        if headroom is None:
            return
        with self._lock:
            self._headroom, self.quota_reset = headroom, reset
            self._spent_before = self.spent if spent is None else spent

    def probe(self) -> bool:
        """Ask for the headroom if a call is left for that, and say whether it was answered; else the count stands."""
        with self._probing:
            with self._lock:
                spent = self.spent
                if self._shortage(1 + self.kept, sharers=1) is not None:
                    return False
            with suppress(CallFailed, RunMustStop):
                headers = self.partner.usage(days=1)[1]
                self.take_reading(headers.rate_remaining, headers.rate_reset, spent)
                return True
            return False

    def keep_probing(self, over: Event) -> None:
        """Read the quota now and then; soon, where a reserve is to be kept and the service has not answered yet."""
        is_known = not self.bounds.reserve or self._headroom is not None
        while not over.wait(min(self.probe_seconds if is_known else _UNKNOWN_SECONDS, TIMEOUT_MAX)):
            is_known = self.probe() or is_known

    def stop_at_closing(self) -> None:
        closes_at = self.bounds.closes_at
        if closes_at is not None and self.clock() >= closes_at:
            self.stop.pull(
                RunMustStop(f"The window closed at {closes_at:%Y-%m-%d %H:%M:%S} UTC.", ended_by=EndedBy.WINDOW)
            )

    def _begin(self, row: int, calls: AbstractSet[Call]) -> EndedBy | None:
        with self._lock:
            shortage = self._shortage(len(calls) + self.kept, self.bounds.sharers)
            if shortage is None:
                self._owed[row] = set(calls)
            return shortage

    def _shortage(self, calls: int, sharers: int) -> EndedBy | None:
        """Return how the leg ends because so many calls more are not covered; None if they are."""
        needed = calls + sum(map(len, self._owed.values()))
        if self.bounds.max_calls is not None and self.spent + needed > self.bounds.max_calls:
            return EndedBy.WINDOW
        if self._headroom is None:
            return None
        share = (self._headroom - self.bounds.reserve) / sharers
        return EndedBy.QUOTA if share < self.spent - self._spent_before + needed else None

    def _run_out(self, shortage: EndedBy) -> None:
        with self._lock:
            self.ran_out = self.ran_out or RunMustStop(self._sentence(shortage), ended_by=shortage)
        self._stop_when_idle()

    def _stop_when_idle(self) -> None:
        with self._lock:
            if self.ran_out is not None and not self._owed:
                self.stop.pull(self.ran_out)

    def _sentence(self, shortage: EndedBy) -> str:
        bounds = self.bounds
        if shortage is EndedBy.WINDOW:
            return f"Of the {bounds.max_calls:,} calls that it was given, none are left for another."
        left = max(0, (self.left or 0) - sum(map(len, self._owed.values())))
        when = reset_clause(self.quota_reset, self.clock())
        return f"Calls left in the key's quota: {left:,}, reserved: {bounds.reserve:,}; {when}."
