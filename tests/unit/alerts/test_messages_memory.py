"""A cause is told once; again if it is over and comes back, or if it still holds after days."""

from datetime import UTC, datetime, timedelta

from proofsweep.alerts.events import AlertKind
from proofsweep.alerts.messages import Alert, SentCauses

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
WEEK = 7.0


def alert(*causes: str) -> Alert:
    """Make an alert of some causes."""
    return Alert(kind=AlertKind.SUNSET, causes=causes, subject="s", body="b")


def test_what_was_told_is_not_told_again() -> None:
    """Every night finds the same cause."""
    told = SentCauses({}).having([alert("a")], NOW)

    assert told.unsent([alert("a"), alert("b")]) == [alert("b")]


def test_an_alert_with_one_new_cause_is_told() -> None:
    """A second supplier is news, although the first is not."""
    told = SentCauses({"a": NOW})

    assert told.unsent([alert("a", "b")]) == [alert("a", "b")]


def test_a_cause_that_still_holds_is_told_again_after_some_days() -> None:
    """Nobody may have acted on the first message."""
    told = SentCauses({"old": NOW - timedelta(days=7), "new": NOW - timedelta(days=6, hours=23)})

    assert told.recent(NOW, WEEK).at.keys() == {"new"}


def test_a_cause_from_the_future_is_forgotten() -> None:
    """A clock that was wrong once would else keep it silent for years."""
    assert SentCauses({"a": NOW + timedelta(seconds=1)}).recent(NOW, WEEK).at == {}


def test_a_cause_that_is_over_is_told_when_it_comes_back() -> None:
    """The begin of a cause names whole parts of it."""
    told = SentCauses({"rows\tbeta\tmusic\tquota": NOW, "rows\tbeta\tmusic2\tquota": NOW, "key\tbeta": NOW})

    assert told.without(["rows\tbeta\tmusic", "key\tbeta"]).at.keys() == {"rows\tbeta\tmusic2\tquota"}
