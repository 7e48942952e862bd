"""What a leg's exchanges show is what a rehearsal plays."""

from collections.abc import Sequence
from datetime import UTC, datetime
from random import Random

import pytest

from proofsweep.model.exchanges import Call
from proofsweep.model.observed import ObservedLink
from proofsweep.verify.rehearsal.event_queue import EventQueue
from proofsweep.verify.rehearsal.observe import observed, observed_link
from proofsweep.verify.rehearsal.seen_call import SeenCall
from proofsweep.verify.rehearsal.uplink import Uplink


def call(kind: Call, began: float, seconds: float, status: int | None = 200, sent_bytes: int = 0) -> SeenCall:
    """Make a call."""
    return SeenCall(call=kind, began=began, seconds=seconds, status=status, sent_bytes=sent_bytes)


def uploads_on(speed: float, *, sizes: Sequence[int], every: float) -> list[SeenCall]:
    """Upload files over a simulated link, one begun every so many seconds; each takes a tenth of a second besides."""
    events, found = EventQueue(), []
    link = Uplink(events=events, speed=speed)

    def begin(size: int) -> None:
        began = events.now

        def uploaded(_size: float) -> None:
            found.append(call(Call.SLOT, began, events.now - began + 0.1, 204, size))

        link.send(float(size), uploaded)

    for number, size in enumerate(sizes):
        events.at(number * every, lambda size=size: begin(size))
    events.run_all()
    return sorted(found, key=lambda each: each.began)


def test_a_full_link_is_found_by_how_uploads_share_it() -> None:
    """Five megabytes a second, within a tenth."""
    chance = Random(3)  # noqa: S311 - draws sizes
    sizes = [int(1e5 * 20 ** chance.random()) for _ in range(200)]

    link = observed_link(uploads_on(5e6, sizes=sizes, every=0.12))

    assert link.of_all == pytest.approx(5e6, rel=0.1)


def test_uploads_alone_on_a_link_show_what_one_carries() -> None:
    """Nothing says that two would be slower."""
    sizes = [200_000, 900_000, 100_000, 1_500_000] * 10

    link = observed_link(uploads_on(5e6, sizes=sizes, every=2.0))

    assert link.of_each == pytest.approx(5e6, rel=0.02)
    assert link.of_all == float("inf")
    assert link.fixed_seconds == pytest.approx(0.1, rel=0.02)


def test_small_files_say_nothing_about_the_link() -> None:
    """Their uploads take what they take, whatever their size."""
    chance = Random(3)  # noqa: S311 - draws times
    small = [call(Call.SLOT, float(n), 0.1 + 0.05 * chance.random(), 204, 1_000 + n) for n in range(100)]

    link = observed_link(small)

    assert not link.is_known
    assert link.fixed_seconds == pytest.approx(0.125, rel=0.05)
    assert observed_link([]) == ObservedLink()


def test_uploads_that_never_shared_a_link_do_not_show_it() -> None:
    """Sharing by chance explains some of the times of small files, and says nothing."""
    chance = Random(5)  # noqa: S311 - draws times
    small = [
        call(Call.SLOT, 0.02 * number, 0.01 * (1 + chance.random()), 204, 26_000 - number % 7) for number in range(60)
    ]

    assert observed_link(small).of_each > 0


def test_large_files_of_one_size_show_the_link_by_what_it_carried() -> None:
    """They share it, so that it was full."""
    together = [call(Call.SLOT, float(n), 8.0, 204, 2_000_000) for n in range(40)]

    assert observed_link(together).of_all == pytest.approx(2_000_000, rel=0.15)


def test_times_and_failures_are_those_of_the_calls_for_items() -> None:
    """A failed call is no answer time, and a refused one is no failure."""
    calls = [call(Call.UPLOADS, float(n), 0.1) for n in range(10)]
    calls += [call(Call.SLOT, n + 0.1, 0.2, 204, 500) for n in range(10)]
    calls += [call(Call.VERIFY, n + 0.3, 0.4) for n in range(10)]
    calls += [call(Call.VERIFY, 20.0, 9.0, 503), call(Call.VERIFY, 21.0, 0.02, 429)]

    service = observed(calls, origin="a sample", cpu_seconds=0.5, overhead_seconds=1.5)

    assert service is not None
    assert service.measured_at == datetime(1970, 1, 1, 0, 0, 9, 700_000, tzinfo=UTC)
    assert (service.rows, set(service.slot_seconds), set(service.verify_seconds)) == (10, {0.1}, {0.4})
    assert service.failing == pytest.approx(1 / 21)
    assert (service.trip_seconds, service.cpu_seconds, service.overhead_seconds) == (0.01, 0.05, 1.5)
    assert observed(calls[:10], origin="a sample") is None


def test_many_answers_are_kept_as_their_quantiles() -> None:
    """The fastest, the slowest and 99 between them."""
    calls = [call(kind, float(n), 0.001 * (n + 1)) for n in range(1_000) for kind in (Call.UPLOADS, Call.VERIFY)]

    service = observed(calls, origin="a sample")

    assert service is not None
    assert (len(service.verify_seconds), service.verify_seconds[0], service.verify_seconds[-1]) == (101, 0.001, 1.0)
    assert service.verify_seconds[50] == pytest.approx(0.5, rel=0.01)
