"""How much of the key's quota a leg has spent, and whether another item may begin (contract, Limits)."""

import math
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from proofsweep.client.client import Partner
from proofsweep.config.threads import TIMEOUT_MAX, Event, RLock, StopSwitch
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CallFailed, RunMustStop
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.runs import Bounds
from proofsweep.domain.text import reset_clause

CALLS_OF_A_FILE: AbstractSet[Call] = frozenset({Call.UPLOADS, Call.VERIFY})
CALLS_OF_A_PROOF = CALLS_OF_A_FILE | {Call.ASSET}
LAST_PROBE_CALLS = 1  # kept for the last probe of the headroom, which a leg makes when it ends
CALLS_TO_BEGIN = len(CALLS_OF_A_FILE) + LAST_PROBE_CALLS  # a quota with less begins no item
CHECK_ROW = -1  # the calls of a check are owed to this row
_ANOTHER_FILE, _REPEATED, _CHECK = "another", "a repeated one", "a check that files wait for"  # who gets no calls
_UNKNOWN_SECONDS = 10.0  # between two probes, while a reserve cannot be kept


def calls_sent(exchanges: Iterable[Exchange]) -> int:
    return sum(exchange.is_charged for exchange in exchanges)


@dataclass(slots=True)
class Budget:
    """What one leg may spend and has spent; safe to use from several threads.

    Each keyed call is claimed just before it is sent, so none goes beyond the bounds, whatever it is for. An item that
    was admitted is owed the calls that it still needs: it never stands still for want of them, unless a call must be
    repeated and none is left for that. The partner's headroom is the authority; after a reading of it, each keyed call
    that was sent counts as one (contract, Limits). When it runs out, items in flight are finished, and the leg stops.
    """

    bounds: Bounds
    partner: Partner
    stop: StopSwitch
    clock: Callable[[], datetime]  # a window closes by the wall clock
    probe_seconds: float = math.inf  # between two probes of the quota
    kept: int = LAST_PROBE_CALLS  # calls that no item may use
    spent: int = 0  # keyed calls that were sent, or are on their way
    quota_reset: datetime | None = None  # by the last reading
    ran_out: RunMustStop | None = None  # why no other item may begin
    calls_of_tries: dict[int, int] = field(default_factory=dict)  # keyed calls, of rows that were tried and not written
    _in_flight: set[int] = field(default_factory=set)  # rows, and a check
    _owed: dict[int, set[Call]] = field(default_factory=dict)  # to those in flight that were admitted
    _headroom: int | None = None
    _resets_at: datetime | None = None  # when the headroom that was read says nothing any more
    _is_of_old_key: bool = False  # the last reading; that of the new key is asked for before another item
    _spent_before: int = 0  # of the calls, those that the headroom includes
    _ended: int = 0  # of the calls, those that were noted
    _lock: RLock = field(default_factory=RLock)
    _probing: RLock = field(default_factory=RLock)

    @property
    def left(self) -> int | None:
        """How many calls should be left in the key's quota; None if the service did not say."""
        with self._lock:
            if self._headroom is None:
                return None
            spent_since = self.spent - self._spent_before
            return max(0, self._headroom - spent_since)

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    def may_begin(self, row: int) -> bool:
        """Whether another item may begin; `release` it afterwards. It spends nothing before it is admitted."""
        self.stop_at_closing()
        with self._lock:
            if self.stop.reason is not None or self.ran_out is not None:
                return False
            self._in_flight.add(row)
            return True

    def admit(self, row: int, calls: AbstractSet[Call] = CALLS_OF_A_FILE, *, whose: str = _ANOTHER_FILE) -> None:
        """Cover the calls of an item that is about to make its first; RunMustStop if it may not. `release` it then.

        The quota is read before the leg gives up: it may have been reset, or other legs have left their part.
        """
        if row in self._owed:
            return
        self.stop_at_closing()
        self.stop.check()
        if self._is_of_old_key:
            with self._probing:
                if self._is_of_old_key:
                    self.probe()
        shortage = self._cover(row, calls)
        if shortage is EndedBy.QUOTA:
            # Of the threads that wait here, the first one asks. The others find its answer, and spend no call.
            with self._probing:
                shortage = self._cover(row, calls)
                if shortage is EndedBy.QUOTA and self.ran_out is None:
                    self.probe()
                    shortage = self._cover(row, calls)
        if shortage is not None:
            why = RunMustStop(self._sentence(shortage, whose), ended_by=shortage)
            self.ran_out = self.ran_out or why
            raise why

    @contextmanager
    def for_check(self, *, is_awaited: bool) -> Iterator[None]:
        """Cover the calls of a check that is made inside; RunMustStop if none are left for it.

        What waits for evidence then remains.
        """
        # Where all items wait for the check, it may use the calls of those that would begin with their first call: they
        # remain, which costs nothing. Without the check they would wait for ever, so the leg ends at once.
        with self._lock:
            shortage = self._shortage(len(CALLS_OF_A_FILE) + self.kept)
            if is_awaited and shortage is not None:
                self._owed = {row: owed for row, owed in self._owed.items() if Call.UPLOADS not in owed}
        try:
            self.admit(CHECK_ROW, whose=_CHECK)
            yield
        except RunMustStop as why:
            if self.stop.reason is None:
                self.ran_out = self.ran_out or why
            if is_awaited:
                self.stop.pull(why)
            raise
        finally:
            self.release(CHECK_ROW)

    def release(self, row: int) -> None:
        """The last item in flight ends a leg that has run out."""
        with self._lock:
            self._owed.pop(row, None)
            self._in_flight.discard(row)
            if self.ran_out is not None and not self._in_flight:
                self.stop.pull(self.ran_out)

    def claim(self, row: int | None, call: Call) -> None:
        """Count a keyed call that is sent now, for a row or for none; RunMustStop if none is left for it.

        The caller `note`s how the call ended.
        """
        with self._lock:
            owed = set[Call]() if row is None else self._owed.setdefault(row, set())
            # What is not owed, such as a repeated call or a reading of the quota, needs a call that nobody is owed. A
            # slot is of no use without the call that follows it.
            calls = CALLS_OF_A_FILE if call is Call.UPLOADS else {call}
            needed = calls - owed
            if needed:
                self._refuse_shortage(row, call, len(needed))
            owed |= needed - {call}
            owed.discard(call)
            self.spent += 1

    def _refuse_shortage(self, row: int | None, call: Call, needed: int) -> None:
        shortage = self._shortage(needed + self.kept, is_reading=call is Call.USAGE)
        if shortage is not None:
            whose = _CHECK if row == CHECK_ROW else _REPEATED
            raise RunMustStop(self._sentence(shortage, whose), ended_by=shortage)

    def claim_last(self, call: Call) -> None:
        """Count the last call of the leg, for which one is kept; RunMustStop if it was spent before the leg began."""
        self.kept = 0
        self.claim(None, call)

    def record(self, exchange: Exchange, row: int | None) -> None:
        """Take note of how a call ended; one that was never sent is not spent, and still owed to its row."""
        if not exchange.call.is_keyed:
            return
        with self._lock:
            if exchange.is_charged:
                self._ended += 1
                self.spent = max(self.spent, self._ended)  # a call with another key is not claimed
            else:
                self.spent -= 1
                if row in self._owed:
                    self._owed[row].add(exchange.call)

    def record_reading(self, headroom: int | None, reset: datetime | None, spent: int | None = None) -> None:
        """Take the partner's figures, which include so many calls of this leg; all that it has made, if not given."""
        if headroom is None:
            return
        with self._lock:
            self._headroom, self.quota_reset = headroom, reset
            # A reset that had passed when it was read tells nothing: no later reading would be another one.
            self._resets_at = reset if reset is not None and reset > self.clock() else None
            self._spent_before = self.spent if spent is None else spent

    def forget_reading(self) -> None:
        """Forget the headroom and its reset: they were another key's."""
        with self._lock:
            self._headroom, self.quota_reset, self._is_of_old_key = None, None, True

    def probe(self) -> bool:
        """Ask for the headroom if a call is left for that, and say whether it was answered; else the count stands."""
        with self._probing:
            # The answer includes its own call. Those that are on their way meanwhile count as not included: the leg may
            # think that it has fewer calls left than it has, and never more.
            with self._lock:
                ended, self._is_of_old_key = self._ended, False
                if self._shortage(1 + self.kept, is_reading=True) is not None:
                    return False
            with suppress(CallFailed, RunMustStop):
                partner = self.partner.within(partial(self.claim, None))
                _, headers = partner.usage(days=1)
                # The key may have changed while this was asked, even by this very call.
                if not self._is_of_old_key:
                    self.record_reading(headers.rate_remaining, headers.rate_reset, ended + 1)
                return True
            return False

    def keep_probing(self, over: Event) -> None:
        """Read the quota now and then; soon, where a reserve is to be kept and the service has not answered yet."""
        is_known = not self.bounds.reserve or self._headroom is not None
        known_seconds = min(self.probe_seconds, TIMEOUT_MAX)
        while not over.wait(known_seconds if is_known else _UNKNOWN_SECONDS):
            is_known = self.probe() or is_known

    def stop_at_closing(self) -> None:
        closes_at = self.bounds.closes_at
        if closes_at is not None and self.clock() >= closes_at:
            why = f"The window closed at {closes_at:%Y-%m-%d %H:%M:%S} UTC."
            self.stop.pull(RunMustStop(why, ended_by=EndedBy.WINDOW))

    def _cover(self, row: int, calls: AbstractSet[Call]) -> EndedBy | None:
        with self._lock:
            shortage = self._shortage(len(calls) + self.kept)
            if shortage is None:
                self._in_flight.add(row)
                self._owed[row] = set(calls)
            return shortage

    def _shortage(self, calls: int, *, is_reading: bool = False) -> EndedBy | None:
        """Return how the leg ends because so many calls more are not covered; None if they are.

        A reading of the quota is for all who share it. What was read before the quota's reset hinders no reading.
        """
        needed = calls + sum(map(len, self._owed.values()))
        if self.bounds.max_calls is not None and self.spent + needed > self.bounds.max_calls:
            return EndedBy.WINDOW
        is_over = self._resets_at is not None and self._resets_at <= self.clock()
        if self._headroom is None or (is_reading and is_over):
            return None
        sharers = 1 if is_reading else self.bounds.sharers
        share = (self._headroom - self.bounds.reserve) / sharers
        spent_since = self.spent - self._spent_before
        return EndedBy.QUOTA if share < spent_since + needed else None

    def _sentence(self, shortage: EndedBy, whose: str) -> str:
        bounds = self.bounds
        if shortage is EndedBy.WINDOW:
            return f"Of the {bounds.max_calls:,} calls that it was given, none are left for {whose}."
        owed = sum(map(len, self._owed.values()))
        left = max(0, (self.left or 0) - owed)
        none = "" if whose == _ANOTHER_FILE else f", none for {whose}"
        when = reset_clause(self.quota_reset, self.clock())
        return f"Calls left in the key's quota: {left:,}, reserved: {bounds.reserve:,}{none}; {when}."
