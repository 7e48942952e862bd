"""A simulated gateway admits what its lane has tokens for."""

from proofsweep.verify.rehearsal.gateway import Gateway


def test_a_full_bucket_lets_a_burst_through_and_then_the_rate() -> None:
    """Five at once, and two more in the next second."""
    gateway = Gateway(rate=2, burst=5)

    at_once = sum(not gateway.refuses(0.0) for _ in range(10))
    later = sum(not gateway.refuses(1.0) for _ in range(10))

    assert (at_once, later) == (5, 2)
    assert gateway.retry_after(1.0) == 1.0


def test_a_concurrency_limit_counts_calls_in_flight() -> None:
    """One more goes as soon as one is answered."""
    gateway = Gateway(rate=100, burst=100, concurrency=2)
    admitted = [not gateway.refuses(0.0) for _ in range(3)]

    gateway.release()

    assert admitted == [True, True, False]
    assert not gateway.refuses(0.0)


def test_tokens_are_counted_over_changes_of_the_rate() -> None:
    """Ten seconds at 2, then ten at 5."""
    assert Gateway(rate=2, burst=1, changes=((10, 5),)).admits(0, 20) == 70
