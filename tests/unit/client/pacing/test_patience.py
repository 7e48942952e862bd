"""A throttle without end is hopeless, whether it says so at once or in small portions."""

from proofsweep.client.pacing.patience import Patience
from proofsweep.domain.exchanges import Call


def test_a_wait_longer_than_the_run_has_patience_for_is_hopeless() -> None:
    """It need not be sat out to be known."""
    patience = Patience(longest_pause_seconds=120.0)

    assert not patience.is_spent(Call.VERIFY, 0.0, 120.0)
    assert patience.is_spent(Call.VERIFY, 0.0, 121.0)


def test_short_waits_that_lead_nowhere_are_hopeless_in_the_end() -> None:
    """A service that says "in a second" for minutes is not going to answer."""
    patience = Patience(longest_pause_seconds=120.0)

    spent = [patience.is_spent(Call.VERIFY, float(now), 1.0) for now in range(122)]

    assert spent == [False] * 121 + [True]


def test_a_call_that_was_let_through_renews_the_patience() -> None:
    """A busy lane that moves is only slow."""
    patience = Patience(longest_pause_seconds=120.0)
    patience.is_spent(Call.VERIFY, 0.0, 1.0)

    patience.renew(Call.VERIFY)

    assert not patience.is_spent(Call.VERIFY, 121.0, 1.0)


def test_another_call_that_is_let_through_does_not_renew_the_patience() -> None:
    """Asking for the headroom is answered all the time, while no slot is given for hours."""
    patience = Patience(longest_pause_seconds=120.0)
    patience.is_spent(Call.UPLOADS, 0.0, 1.0)

    patience.renew(Call.USAGE)

    assert patience.is_spent(Call.UPLOADS, 121.0, 1.0)
    assert not patience.is_spent(Call.VERIFY, 121.0, 1.0)
