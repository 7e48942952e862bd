"""What an earlier run learned of the lane spares the next one the search."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from proofsweep.store.objects import open_store
from proofsweep.store.parts import Results
from proofsweep.verify.history import last_rate

from ...worlds.ended_runs import end_leg, plan_of_run

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
WEEK_AGO = NOW - timedelta(days=7)
URL = "https://partner.example/v1"


def store_with(folder: Path, *legs: dict[str, object]) -> Results:
    """Make a results store whose legs are these, oldest first."""
    results = Results(open_store(str(folder)))
    for number, leg in enumerate(legs):
        lane = {"base_url_host": "partner.example", "key_fingerprint": "abc", "finished_at": NOW}
        end_leg(results, plan_of_run(f"20261120T0000{number:02}Z_000aa"), **lane | leg)
    return results


def test_the_newest_leg_that_learned_a_rate_counts(tmp_path: Path) -> None:
    """A leg that was never throttled has learned none."""
    results = store_with(tmp_path, {"rate_learned": 5.0}, {"rate_learned": 20.0}, {"rate_learned": None})

    assert last_rate(results, URL, "abc", WEEK_AGO) == 20.0


def test_another_key_and_another_service_have_lanes_of_their_own(tmp_path: Path) -> None:
    """Nothing is remembered across them."""
    other_service = {"rate_learned": 9.0, "base_url_host": "other.example"}
    results = store_with(tmp_path, {"rate_learned": 5.0}, {"rate_learned": 7.0, "key_fingerprint": "x"}, other_service)

    assert last_rate(results, URL, "abc", WEEK_AGO) == 5.0
    assert last_rate(results, URL, "new", WEEK_AGO) is None


def test_an_old_rate_is_forgotten(tmp_path: Path) -> None:
    """A lane changes in time."""
    results = store_with(tmp_path, {"rate_learned": 5.0, "finished_at": WEEK_AGO - timedelta(seconds=1)})

    assert last_rate(results, URL, "abc", WEEK_AGO) is None
