"""What the calls of a leg show of the lane: the token bucket that explains the 429s, or a limit of calls at once."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median

from proofsweep.model.lane import TokenBucket
from proofsweep.model.observed import ObservedLane
from proofsweep.partner.pacing.concurrency_limit import ConcurrencyLimit
from proofsweep.partner.pacing.lane_model import Cycle
from proofsweep.verify.rehearsal.seen_call import SeenCall

# The stretch over which the fastest traffic is counted. Chosen: longer than a burst of calls, shorter than a sample.
_STRETCH_SECONDS = 5.0
# Fewer calls between two 429s show no rate: another user, or chance.
_LEAST_CALLS = 5
# Cycles that are looked at. Chosen: they agree within some percent by then.
_MOST_CYCLES = 12
# Bursts of 429s that show a limit of calls at once, and the number in flight from which they do: chance rarely agrees.
_LEAST_FIRSTS = 3
_LEAST_NUMBER = 5
# How finely the calls of a cycle are counted; more takes longer and shows no more.
_LEAST_STRETCH_SECONDS = 0.25
_MOST_STRETCHES = 100
# The sizes of a bucket that are tried, in seconds of the rate: from a quarter to twenty.
_BURST_SECONDS = tuple(0.25 * 80 ** (step / 39) for step in range(40))
# How far the pacer's rate may be from that of the cycles, as a share: after a minute it is within some hundredths, in
# the first seconds it may be off by a third.
_NEARLY = 0.08
# How much better the cycles must agree, as a share of the rate, for a bucket 2.7 times smaller or larger than a second.
_UNUSUAL = 0.02


def observed_lane(keyed: Sequence[SeenCall], learned_rate: float | None) -> ObservedLane:
    """Return what keyed calls, in the order in which they began, show of the lane.

    The token bucket is the one that explains best when calls were refused; `learned_rate` is the pacer's.
    """
    let_in = [call.began for call in keyed if not call.is_refused]
    refusals = [call for call in keyed if call.is_refused]
    most = _most_at_once(keyed)
    bucket = None
    if refusals and most is None:
        bucket = _bucket(_cycles(let_in, refusals), learned_rate or _fastest(let_in))
    waits = [call.retry_after_seconds for call in refusals if call.retry_after_seconds is not None]
    return ObservedLane(
        rate=None if bucket is None else bucket.rate,
        burst=1.0 if bucket is None else bucket.burst,
        most_at_once=most,
        fastest=_fastest(let_in),
        least_wait_seconds=min(waits, default=1.0),
    )


def _cycles(let_in: Sequence[float], refusals: Sequence[SeenCall]) -> Sequence[Cycle]:
    """Return the calls from one 429 to the next; the first ones begin with a full bucket."""
    cycles: list[Cycle] = []
    began, last_ended = let_in[0] if let_in else 0.0, -math.inf
    for refused in refusals:
        if refused.began <= last_ended:  # it was in flight at the first 429 of a burst
            continue
        times = let_in[bisect_left(let_in, began) : bisect_left(let_in, refused.began)]
        if len(times) >= _LEAST_CALLS:
            cycles.append(Cycle(stretches=_stretches(times, began, refused.began), begins_full=not cycles))
        began, last_ended = refused.began, refused.ended
    return cycles[:_MOST_CYCLES]


def _stretches(times: Sequence[float], began: float, ended: float) -> Sequence[tuple[float, int]]:
    """Count the calls in short stretches of even length."""
    number = max(1, min(_MOST_STRETCHES, int((ended - began) / _LEAST_STRETCH_SECONDS)))
    edges = [began + (ended - began) * place / number for place in range(number + 1)]
    places = [bisect_left(times, edge) for edge in edges]
    return [
        (after - before, last - first)
        for (before, after), (first, last) in zip(pairwise(edges), pairwise(places), strict=True)
    ]


def _bucket(cycles: Sequence[Cycle], learned_rate: float) -> TokenBucket | None:
    """Return the token bucket for whose size the cycles agree best on a rate; one second of the rate without cycles.

    Few short cycles agree for many sizes: then one near a second of the rate is taken, as gateways have it. If the
    pacer has learned nearly the same rate, it is the better one, since it weighs all that it met.
    """
    if not cycles:
        return TokenBucket(learned_rate, max(1.0, learned_rate)) if learned_rate else None
    found = min((_fitted(cycles, learned_rate * seconds) for seconds in _BURST_SECONDS), key=lambda fit: fit[0])[1]
    if abs(learned_rate / found.rate - 1) > _NEARLY:
        return found
    sizes = (learned_rate * seconds for seconds in _BURST_SECONDS)
    return min((_fitted(cycles, size, learned_rate) for size in sizes), key=lambda fit: fit[0])[1]


def _fitted(cycles: Sequence[Cycle], burst: float, rate: float | None = None) -> tuple[float, TokenBucket]:
    """Return a bucket of this size, and how far the cycles differ from its rate, as a share of it."""
    burst = max(1.0, burst)
    rates = [cycle.rate(burst) for cycle in cycles]
    rate = rate or median(rates)
    differs = fmean(abs(each - rate) for each in rates) / rate
    return differs + _UNUSUAL * abs(math.log(burst / rate)), TokenBucket(rate, burst)


def _most_at_once(keyed: Sequence[SeenCall]) -> int | None:
    """Let the pacer's own detector look at the calls, as it did when they were made.

    It waits for more bursts of 429s than a short leg meets. So they count too if all of them began at one number of
    calls in flight, above which none was let in: a rate refuses at any number.
    """
    limit, numbers = ConcurrencyLimit(), _numbers_in_flight(keyed)
    firsts: list[int] = []
    last_ended = -math.inf
    for call in sorted(keyed, key=lambda call: call.ended):
        if not call.is_refused:
            limit.was_admitted(numbers[call])
            continue
        limit.was_refused(numbers[call], call.ended)
        if call.began > last_ended:
            firsts.append(numbers[call])
            last_ended = call.ended
    if limit.most < math.inf:
        return int(limit.most)
    most_let_in = max((numbers[call] for call in keyed if not call.is_refused), default=0)
    is_sharp = len(firsts) >= _LEAST_FIRSTS and len(set(firsts)) == 1 and firsts[0] >= max(_LEAST_NUMBER, most_let_in)
    return firsts[0] - 1 if is_sharp else None


def _numbers_in_flight(keyed: Sequence[SeenCall]) -> dict[SeenCall, int]:
    """Return for each call how many were in flight when it was sent, itself included."""
    moments = [(call.began, 1, call) for call in keyed] + [(call.ended, 0, call) for call in keyed]
    in_flight, numbers = 0, {}
    for _, is_begin, call in sorted(moments, key=lambda moment: moment[:2]):
        in_flight += 1 if is_begin else -1
        if is_begin:
            numbers[call] = in_flight
    return numbers


def _fastest(began: Sequence[float]) -> float:
    """Return the most calls per second over a stretch."""
    if not began or began[-1] - began[0] <= _STRETCH_SECONDS:
        return len(began) / max(1.0, began[-1] - began[0]) if began else 0.0
    most = first = 0
    for number, at in enumerate(began):
        while at - began[first] > _STRETCH_SECONDS:
            first += 1
        most = max(most, number - first + 1)
    return most / _STRETCH_SECONDS
