"""From the settings to those who are told; nothing that goes wrong there ends a run."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.alerts.messages import Alert
from proofsweep.answers.describe_run import describe_run
from proofsweep.errors import ConfigError, RunMustStop
from proofsweep.model.ingest import PassReport
from proofsweep.settings import Settings, load_settings
from proofsweep.verify.budget.bounds import Bounds
from proofsweep.verify.leg.work import verify_slice
from proofsweep.verify.plan.examine_service import ServiceStatus
from proofsweep.wiring.alerts import (
    AlertEvent,
    begin_of_leg,
    complaints_of,
    end_of_flow,
    end_of_leg,
    end_of_pass,
    notifier_for,
    receivers_for,
    stop_before_leg,
)
from proofsweep.wiring.engines import engine_for
from proofsweep.wiring.legs import claimed_next_leg
from proofsweep.wiring.runs import plan_catalog
from proofsweep.wiring.stores import results_for

from .conftest import Change


@dataclass(slots=True)
class Inbox:
    """One who is told."""

    alerts: list[Alert] = field(default_factory=list)

    @property
    def kinds(self) -> list[str]:
        """What was told."""
        return [alert.kind for alert in self.alerts]

    def __len__(self) -> int:
        """Count one."""
        return 1

    def send(self, alerts: Sequence[Alert]) -> list[list[str]]:
        """Take alerts."""
        self.alerts += alerts
        return [[] for _ in alerts]


def verified(settings: Settings, config: str, catalog: str, bounds: Bounds | None = None) -> str:
    """Verify a catalog; give the run's id."""
    run_id = plan_catalog(settings, catalog).run_id
    with claimed_next_leg(engine_for(load_settings(config)), run_id, bounds=bounds) as (_, leg):
        for piece in leg.remaining.slices():
            verify_slice(leg, piece)
    return run_id


def told(event: AlertEvent | None) -> Inbox:
    """Tell one; fail if there is a complaint."""
    inbox = Inbox()
    assert event is None or complaints_of(event, also=[inbox]) == []
    return inbox


def test_a_run_with_rows_that_remain_is_told_once(settings: Settings, config: str, catalog: str) -> None:
    """The second run of the catalog ends alike."""
    runs = [verified(settings, config, catalog, Bounds(max_calls=5)) for _ in range(2)]

    first, second = (told(end_of_leg(settings, describe_run(results_for(settings), run_id))) for run_id in runs)

    assert (first.kinds, second.kinds) == (["rows_remain"], [])
    assert "rows remain (beta)" in first.alerts[0].subject


def test_a_whole_run_lets_the_next_trouble_be_told(settings: Settings, config: str, catalog: str) -> None:
    """What is over is forgotten."""
    results = results_for(settings)
    short, whole = Bounds(max_calls=5), Bounds()

    inboxes = [
        told(end_of_leg(settings, describe_run(results, verified(settings, config, catalog, bounds))))
        for bounds in (short, whole, short)
    ]

    assert [inbox.kinds for inbox in inboxes] == [["rows_remain"], [], ["rows_remain"]]


def test_a_key_that_ends_soon_is_told_at_the_end_of_any_run(change: Change, config: str, catalog: str) -> None:
    """Also of one that went well."""
    settings = change(SERVICE__KEY_EXPIRES_AT=(datetime.now(UTC) + timedelta(hours=3)).isoformat())
    run = describe_run(results_for(settings), verified(settings, config, catalog))

    assert told(end_of_leg(settings, run)).kinds == ["key_expires"]


@pytest.mark.parametrize(
    ("leg", "headroom", "kinds"), [(1, 4, ["quota_short"]), (2, 4, []), (1, 900, []), (1, None, [])]
)
def test_a_quota_that_is_too_small_is_told_when_a_run_begins(
    settings: Settings, catalog: str, leg: int, headroom: int | None, kinds: list[str]
) -> None:
    """Its first leg tells; what a later one lacks was told when the one before it ended."""
    plan = plan_catalog(settings, catalog)

    inbox = told(begin_of_leg(settings, plan, leg, ServiceStatus(headroom=headroom), Bounds()))

    assert inbox.kinds == kinds


def test_a_run_that_could_not_begin_is_told(settings: Settings) -> None:
    """Nothing of it is in the store."""
    stop = RunMustStop("The service does not answer.", ended_by="breaker")

    assert told(stop_before_leg(settings, stop)).kinds == ["outage"]


def test_each_flow_is_told_by_its_own_name(settings: Settings) -> None:
    """A refused key is one cause for all of them; a good end lets the next trouble be told."""
    ends = [("inventory-proofs", "Failed"), ("erase-proofs", "Failed"), ("rotate-key", "KeyRefused")]
    ends += [("inventory-proofs", "Failed"), ("monitor-service", "KeyRefused")]
    ends += [("inventory-proofs", "Completed"), ("inventory-proofs", "Failed")]

    inboxes = [told(end_of_flow(settings, flow, state, "It said so.")) for flow, state in ends]

    assert [inbox.kinds for inbox in inboxes] == [["failed"], ["failed"], ["key_refused"], [], [], [], ["failed"]]
    assert "It said: `It said so.`" in inboxes[0].alerts[0].body


def test_files_that_are_not_moved_are_told_with_their_reasons(settings: Settings) -> None:
    """The cause is the folder: not each file is told."""
    rows = [{"detail": "No space left on device."}] * 15 + [{"detail": "Denied."}]

    inbox = told(end_of_pass(settings, "/in/<!here>", PassReport(not_moved=rows)))

    (alert,) = inbox.alerts
    assert alert.subject == "proofsweep: verified files that are not moved: 16 (beta)"
    assert alert.causes == ("not_moved\tbeta\t/in/<!here>\tNotMoved",)
    assert "- 15: `No space left on device.`" in alert.body
    assert "<!here>" not in alert.body


def test_receivers_are_read_from_a_file_a_variable_or_a_block(
    change: Change, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The URL itself is never a setting."""
    (tmp_path / "urls").write_text("json://127.0.0.1/a")
    monkeypatch.setenv("ALERT_URLS", "json://127.0.0.1/a\njson://127.0.0.1/b")
    from_file = receivers_for(change(ALERTS__URLS_FILE=tmp_path / "urls"), None)
    monkeypatch.delenv("PROOFSWEEP_ALERTS__URLS_FILE")
    from_variable = receivers_for(change(ALERTS__URLS_ENV="ALERT_URLS"), None)
    monkeypatch.delenv("PROOFSWEEP_ALERTS__URLS_ENV")
    in_block = change(ALERTS__URLS_BLOCK="alerts")

    assert from_file is not None
    assert from_variable is not None
    from_block = receivers_for(in_block, {"alerts": "json://127.0.0.1/c"}.__getitem__)
    assert from_block is not None
    assert (len(from_file), len(from_variable), len(from_block)) == (1, 2, 1)
    with pytest.raises(ConfigError, match="Secret block"):
        receivers_for(in_block, None)


def test_nobody_is_told_without_a_receiver(settings: Settings) -> None:
    """Then nothing is even looked at."""
    event = AlertEvent(settings, lambda: pytest.fail("it was looked at"))

    assert notifier_for(settings, None) is None
    assert complaints_of(event) == []


def test_an_alert_that_fails_is_one_line(change: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    """A receiver that is away, a wrong file, or a mistake of this program."""
    monkeypatch.setenv("ALERT_URLS", "json://127.0.0.1:1/s3cr3t")
    settings = change(ALERTS__URLS_ENV="ALERT_URLS")
    stop = stop_before_leg(settings, RunMustStop("It does not answer.", ended_by="breaker"))

    (away,) = complaints_of(stop)
    (mistake,) = complaints_of(AlertEvent(settings, lambda: 1 / 0))  # type: ignore[arg-type,return-value]  # the mistake
    monkeypatch.delenv("ALERT_URLS")
    (wrong,) = complaints_of(stop)

    assert away.startswith("An alert was not taken by json;")
    assert mistake == "Nobody could be told, through a mistake of this program (ZeroDivisionError)."
    assert wrong.startswith("Nobody could be told: The environment variable ALERT_URLS holds no alert URL")
    assert "s3cr3t" not in away + wrong


def test_a_results_store_that_fails_is_one_line(settings: Settings, tmp_path: Path) -> None:
    """It cannot say what was told."""
    (tmp_path / "results").write_text("a file where a folder should be")

    (line,) = complaints_of(stop_before_leg(settings, RunMustStop("no", ended_by="breaker")), also=[Inbox()])

    assert line.startswith("Nobody could be told: ")
