"""Which call goes next, and how many are in flight at most. Pure: the time is an argument.

A verify call goes before a retried slot, and a retried slot before a new one: slots are short-lived, so work in hand is
finished first. The number of unused slots is bounded, so that none is requested that cannot be used soon, and so is the
number of files whose bytes are on their way, so that they do not share a full link.
"""

import math
from collections import defaultdict, deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import IntEnum

from proofsweep.pacing.lane_model import Sent
from proofsweep.pacing.pacer import Pacer
from proofsweep.pacing.rate_share import RateReport, Share

# Measured together: python -m benchmarks.lanes
_SPARE_SLOTS = 8  # slots beyond what the rate needs
_SLOTS_PER_CALL = 0.75  # slots per call that the pace makes while a slot lives
_OLD_SLOT_SECONDS = 45.0  # half as many files are uploaded at once while a slot is older
_OLDEST_SLOT_SECONDS = 120.0  # the highest age that counts for the average
_SLOT_AGE_WEIGHT = 0.02  # the weight of one slot in the average age
# The way to the service stalls when so many more calls than usual leave without an answer, and for no longer than this.
_UNUSUAL_CALLS, _LONGEST_STALL_SECONDS = 4, 3.0
_SILENCE_GROWTH, _SILENCE_SHRINKING = 1.25, 0.99  # of what is usual: so that one silence in 23 is longer
_SMALL_LIMIT = 16  # what was learned of the rate before so small a limit was found comes from the limit

# Of a limit on concurrent calls
_LEAST_BURSTS = 3  # bursts of 429s that show a limit
_BURST_SECONDS = 0.5  # 429s that come closer than this are one burst
_LEAST_LIMIT = 2  # with so few in flight a rate refuses calls too
_FADING_SHARE = 0.9  # what each 429 leaves of the older counts
_FADED_COUNT = 0.3  # faded counts of 429s below this are dropped
_FEW = 6  # fewer bursts show a limit where so few calls are refused
_REFUSED_SHARE = 0.2  # the share of calls beyond a limit that is refused
_PROBE_AFTER_SECONDS = 150.0  # when one call beyond the limit is tried
_PROBE_CALLS = 40  # calls beyond the limit that go through before it grows by one


@dataclass(slots=True)
class ConcurrencyLimit:
    """Does a limit on concurrent calls cause the 429s, and not a rate? A call in flight counts itself.

    The number of calls in flight tells them apart. A concurrency limit refuses calls when many are in flight, and
    almost never when fewer are. A rate refuses at any number, and most calls in flight at that moment go through.
    """

    most: float = math.inf  # the most calls in flight that are let through; infinite while no limit is known
    _admitted: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    _refused: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    _refused_at: float = -math.inf
    _bursts: int = 0
    _admitted_since: int = 0
    _counted_from: float = math.inf

    def allowed(self, now: float) -> float:
        """Return the most calls that may be in flight: every few minutes one more than the limit, to test it."""
        is_limited = self.most < math.inf
        if is_limited and now - self._refused_at > _PROBE_AFTER_SECONDS:
            return self.most + 1
        return self.most

    def was_admitted(self, in_flight: int) -> None:
        self._admitted[in_flight] += 1
        self._admitted_since += 1
        if in_flight > self.most and self._admitted[in_flight] >= _PROBE_CALLS:
            self.most += 1

    def was_refused(self, in_flight: int, now: float) -> bool:
        """Record a 429. Return whether a limit explains it; the rate stays as it is then."""
        is_first = now - self._refused_at > _BURST_SECONDS
        self._refused_at = now
        if is_first:
            self._begin_burst(in_flight)
        if in_flight > self.most:
            self._admitted[in_flight] = 0
            return True
        if in_flight < self._counted_from:
            return False
        self._fade()
        self._refused[in_flight] += 1
        lowest = min(self._refused)
        if lowest <= _LEAST_LIMIT:  # a rate refuses calls at such a number too
            self.most = math.inf
        elif self._is_sharp(lowest):
            self.most = lowest - 1
            return True
        return False

    def _begin_burst(self, in_flight: int) -> None:
        # Calls that leave together do not arrive in order, so their numbers show nothing.
        calls_of_a_group = max(1, in_flight - 1)
        is_evidence = self.most < math.inf or self._admitted_since >= calls_of_a_group
        self._bursts += is_evidence
        self._counted_from = math.inf
        if is_evidence and self._bursts > 1:
            self._counted_from = in_flight
        self._admitted_since = 0

    def _is_sharp(self, lowest: int) -> bool:
        """Whether calls are refused from a number on."""
        admitted = 0.0
        for number, count in self._admitted.items():
            if number >= lowest:
                admitted += count
        # Fewer bursts show it if none has gone through there, or if the number is small: then it recurs only by a
        # limit.
        enough_bursts = _LEAST_BURSTS if admitted and lowest > _FEW else _LEAST_BURSTS - 1
        refused = sum(self._refused.values())
        return self._bursts > enough_bursts and refused > _REFUSED_SHARE * admitted

    def _fade(self) -> None:
        for number in self._admitted:
            self._admitted[number] *= _FADING_SHARE
        for number in list(self._refused):
            self._refused[number] *= _FADING_SHARE
            if self._refused[number] < _FADED_COUNT:
                del self._refused[number]


class Priority(IntEnum):
    """What a call is for, the most urgent first."""

    PROBE = 0
    OTHER = 1
    RETRIED_SLOT = 2
    NEW_SLOT = 3


@dataclass(slots=True, eq=False)
class Ticket:
    priority: Priority
    holder: Hashable  # the item that the call is for; a slot belongs to the item that requested it
    is_for_slot: bool = False  # the call requests a slot
    sent: Sent | None = None  # None while it waits
    in_flight: int = 0  # calls in flight when it was sent, itself included
    is_over: bool = False  # its result is known


MOST_UPLOADS = 16  # files whose bytes are on their way at once: more would only share a link that is full


class CallQueue:
    def __init__(
        self, pacer: Pacer, limit: ConcurrencyLimit | None = None, *, most_uploads: float = MOST_UPLOADS
    ) -> None:
        self.pacer = pacer
        self.limit = limit or ConcurrencyLimit()
        self.most_uploads = most_uploads
        self.in_flight = 0
        self.is_held = False  # only the calls of probes go
        self.part = 1.0  # of the rate limit, that is this process's
        self.refused = 0  # calls answered with 429
        self._sent = self._held_back = 0  # calls since the last report, and those that would have gone earlier
        self._waits = False  # a call waits for its turn now
        self.pause_ends_at = -math.inf  # the end of the last pause that the service asked this process for
        self._queues: tuple[deque[Ticket], ...] = tuple(deque() for _ in Priority)
        self._slots: dict[Hashable, float] = {}
        self._slot_seconds = 1.0
        self._uploading: set[Hashable] = set()
        self._unanswered = 0  # calls that left since the last answer
        self._usual_silence = 8.0  # the most calls that usually leave between two answers
        self._left_at = -math.inf

    def enter(self, priority: Priority, holder: Hashable, *, is_for_slot: bool = False) -> Ticket:
        """Queue a call. `is_for_slot` says of a probe that it requests a slot."""
        ticket = Ticket(priority, holder, is_for_slot or priority >= Priority.RETRIED_SLOT)
        self._queues[priority].append(ticket)
        return ticket

    def release(self, ticket: Ticket) -> None:
        self._queues[ticket.priority].remove(ticket)

    def waiting(self, priority: Priority) -> int:
        return len(self._queues[priority])

    def first(self) -> Ticket | None:
        return next((queue[0] for queue in self._queues if queue), None)

    def head(self, now: float) -> Ticket | None:
        if self.in_flight >= self.limit.allowed(now):
            return None
        # The way to the service stalls: more calls would arrive in a clump. Those that hang for longer hold back no
        # others.
        if now > self._left_at + _LONGEST_STALL_SECONDS:
            self._usual_silence = max(self._usual_silence, self._unanswered)
            self._unanswered = 0
        if self._unanswered > self._usual_silence + _UNUSUAL_CALLS:
            return None
        ticket = self.first()
        if ticket is None or (self.is_held and ticket.priority is not Priority.PROBE):
            return None
        if ticket.priority is Priority.NEW_SLOT and self._slots_are_enough(now):
            return None
        return ticket

    def wake_at(self, now: float) -> float:
        return math.inf if self.head(now) is None else self.pacer.next_at

    def pop_next(self, now: float) -> Ticket | None:
        ticket = self.head(now)
        if ticket is None:
            return None
        if now < self.pacer.next_at:
            self._waits = True
            return None
        ticket.sent = self.pacer.send(now)  # first: if this fails, the call still waits
        self._sent += 1
        self._held_back += self._waits
        self._waits = False
        self._queues[ticket.priority].popleft()
        self.in_flight += 1
        self._unanswered += 1
        self._left_at = now
        ticket.in_flight = self.in_flight
        self._count_slot(ticket, now)
        return ticket

    def was_answered(self, ticket: Ticket) -> None:
        self._close(ticket)
        self.limit.was_admitted(ticket.in_flight)

    def was_uploaded(self, holder: Hashable) -> None:
        self._uploading.discard(holder)

    def pause(self, now: float, pause_seconds: float) -> None:
        """Hold all calls back for another reason than a 429 to this process."""
        if pause_seconds:  # else it would pass for the end of a pause, and slow a search
            self.pacer.pause(now, pause_seconds)

    def was_throttled(self, ticket: Ticket, now: float, pause_seconds: float) -> None:
        slot_holder = ticket.holder if ticket.is_for_slot else None
        self.drop(slot_holder, ticket)
        self.pause_ends_at = max(self.pause_ends_at, now + pause_seconds)
        self.refused += 1
        was_unlimited = self.limit.most == math.inf
        if ticket.sent is None or self.limit.was_refused(ticket.in_flight, now):
            self.pacer.pause(now, pause_seconds)
            if was_unlimited and self.limit.most <= _SMALL_LIMIT and ticket.sent is not None:
                self.pacer.search_again(ticket.sent, now)
        else:
            self.pacer.throttled(ticket.sent, now, pause_seconds)

    def drop(self, holder: Hashable, ticket: Ticket | None) -> None:
        """Record that a call is over without a result, and that its holder has no slot, or will not use it."""
        self._slots.pop(holder, None)
        self._uploading.discard(holder)
        if ticket is not None:
            self._close(ticket)

    def remember(self, rate: float) -> None:
        if self.pacer.learned_rate is None:
            self.pacer = Pacer(rate)

    def report(self) -> RateReport:
        """Return what other processes should know, and reset the counts."""
        is_hungry = self._waits
        if self._sent:
            is_hungry = 2 * self._held_back >= self._sent
        self._sent = self._held_back = 0
        return RateReport(learned_rate=self.pacer.learned_rate, is_hungry=is_hungry)

    def apply_share(self, share: Share, now: float) -> None:
        self.part = share.part
        self.pacer.is_shared = share.part < 1.0
        if share.rate is not None:
            self.pacer.assume(share.rate, now)

    def _close(self, ticket: Ticket) -> None:
        if ticket.is_over:
            return
        self.in_flight -= 1
        ticket.is_over = True
        if self._unanswered > self._usual_silence:
            self._usual_silence *= _SILENCE_GROWTH
        elif self._unanswered:
            self._usual_silence *= _SILENCE_SHRINKING
        self._unanswered = 0

    def _count_slot(self, ticket: Ticket, now: float) -> None:
        if ticket.is_for_slot:
            self._slots[ticket.holder] = now
            self._uploading.add(ticket.holder)
        elif ticket.holder in self._slots:
            requested_at = self._slots.pop(ticket.holder)
            age_seconds = min(_OLDEST_SLOT_SECONDS, now - requested_at)
            self._uploading.discard(ticket.holder)
            self._slot_seconds += _SLOT_AGE_WEIGHT * (age_seconds - self._slot_seconds)

    def _slots_are_enough(self, now: float) -> bool:
        most_uploads = self.most_uploads
        # The first is the oldest. Uploads that take so long share a slow link, and more would only slow it down.
        requested_at = next(iter(self._slots.values()), now)
        if now - requested_at > _OLD_SLOT_SECONDS:
            most_uploads /= 2
        usable_slots = _SLOTS_PER_CALL * self.pacer.pace * self._slot_seconds
        return len(self._slots) >= _SPARE_SLOTS + usable_slots or len(self._uploading) >= most_uploads
