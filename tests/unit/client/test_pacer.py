"""One pause is shared by all, and a pause without end is hopeless."""

from proofsweep.batch.exchanges import Call
from proofsweep.client.pacer import Pacer


def test_nobody_waits_until_somebody_is_throttled() -> None:
    """All send freely at first."""
    assert Pacer().wait_seconds(now=5.0) == 0.0


def test_of_a_volley_of_throttles_the_longest_wait_counts() -> None:
    """A later, shorter Retry-After does not open the door early."""
    pacer = Pacer()
    pacer.was_throttled(Call.VERIFY, now=100.0, wait_seconds=30.0)

    pacer.was_throttled(Call.VERIFY, now=101.0, wait_seconds=2.0)

    assert pacer.wait_seconds(now=110.0) == 20.0
    assert pacer.wait_seconds(now=131.0) == 0.0


def test_a_wait_longer_than_the_run_has_patience_for_is_hopeless() -> None:
    """It need not be sat out to be known."""
    pacer = Pacer(longest_pause_seconds=120.0)

    pacer.was_throttled(Call.VERIFY, now=0.0, wait_seconds=120.0)
    bearable = not pacer.is_hopeless(Call.VERIFY, now=0.0)
    pacer.was_throttled(Call.VERIFY, now=0.0, wait_seconds=121.0)

    assert bearable
    assert pacer.is_hopeless(Call.VERIFY, now=0.0)


def test_short_waits_that_lead_nowhere_are_hopeless_in_the_end() -> None:
    """A service that says "in a second" for minutes is not going to answer."""
    pacer = Pacer(longest_pause_seconds=120.0)
    for now in range(122):
        pacer.was_throttled(Call.VERIFY, now=float(now), wait_seconds=1.0)

    assert pacer.is_hopeless(Call.VERIFY, now=121.0)


def test_a_call_that_was_let_through_renews_the_patience() -> None:
    """A busy lane that moves is only slow."""
    pacer = Pacer(longest_pause_seconds=120.0)
    pacer.was_throttled(Call.VERIFY, now=0.0, wait_seconds=1.0)

    pacer.was_admitted(Call.VERIFY)
    pacer.was_throttled(Call.VERIFY, now=121.0, wait_seconds=1.0)

    assert not pacer.is_hopeless(Call.VERIFY, now=121.0)


def test_another_call_that_is_let_through_does_not_renew_the_patience() -> None:
    """Asking for the headroom is answered all the time, while no slot is given for hours."""
    pacer = Pacer(longest_pause_seconds=120.0)
    pacer.was_throttled(Call.UPLOADS, now=0.0, wait_seconds=1.0)

    pacer.was_admitted(Call.USAGE)

    assert pacer.is_hopeless(Call.UPLOADS, now=121.0)
    assert not pacer.is_hopeless(Call.VERIFY, now=121.0)
