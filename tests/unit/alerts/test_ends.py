"""From the settings to those who are told; nothing that goes wrong there ends a run."""

from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.alerts.ends import end_of_flow, end_of_leg, end_of_pass
from proofsweep.alerts.send import Gather
from proofsweep.answers.describe_run import describe_run
from proofsweep.model.bounds import Bounds
from proofsweep.model.ingest import PassReport
from proofsweep.settings import Settings, load_settings
from proofsweep.verify.leg.work import verify_slice
from proofsweep.wiring import watching
from proofsweep.wiring.engines import engine_for
from proofsweep.wiring.legs import claimed_next_leg
from proofsweep.wiring.runs import plan_catalog
from proofsweep.wiring.stores import results_for
from proofsweep.wiring.watching import alert_scope, tell

from ..wired import Change, Inbox


def verified(settings: Settings, config: str, catalog: str, bounds: Bounds | None = None) -> str:
    """Verify a catalog; give the run's id."""
    run_id = plan_catalog(settings, catalog).run_id
    with claimed_next_leg(engine_for(load_settings(config)), run_id, bounds=bounds) as (_, leg):
        for piece in leg.remaining.slices():
            verify_slice(leg, piece)
    return run_id


def told(settings: Settings, gather: Gather) -> Inbox:
    """Tell one; fail if there is a complaint."""
    inbox = Inbox()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watching, "receivers_for", lambda *_: inbox)
        assert tell(settings, gather) == []
    return inbox


def test_a_run_with_rows_that_remain_is_told_once(settings: Settings, config: str, catalog: str) -> None:
    """The second run of the catalog ends alike."""
    runs = [verified(settings, config, catalog, Bounds(max_calls=5)) for _ in range(2)]

    first, second = (
        told(settings, end_of_leg(alert_scope(settings), describe_run(results_for(settings), run_id)))
        for run_id in runs
    )

    assert (first.kinds, second.kinds) == (["rows_remain"], [])
    assert "rows remain (beta)" in first.alerts[0].subject


def test_a_whole_run_lets_the_next_trouble_be_told(settings: Settings, config: str, catalog: str) -> None:
    """What is over is forgotten."""
    results = results_for(settings)
    short, whole = Bounds(max_calls=5), Bounds()

    inboxes = [
        told(
            settings,
            end_of_leg(alert_scope(settings), describe_run(results, verified(settings, config, catalog, bounds))),
        )
        for bounds in (short, whole, short)
    ]

    assert [inbox.kinds for inbox in inboxes] == [["rows_remain"], [], ["rows_remain"]]


def test_a_key_that_ends_soon_is_told_at_the_end_of_any_run(change: Change, config: str, catalog: str) -> None:
    """Also of one that went well."""
    settings = change(SERVICE__KEY_EXPIRES_AT=(datetime.now(UTC) + timedelta(hours=3)).isoformat())
    run = describe_run(results_for(settings), verified(settings, config, catalog))

    assert told(settings, end_of_leg(alert_scope(settings), run)).kinds == ["key_expires"]


def test_each_flow_is_told_by_its_own_name(settings: Settings) -> None:
    """A refused key is one cause for all of them; a good end lets the next trouble be told."""
    ends = [("inventory-proofs", "Failed"), ("erase-proofs", "Failed"), ("rotate-key", "KeyRefused")]
    ends += [("inventory-proofs", "Failed"), ("monitor-service", "KeyRefused")]
    ends += [("inventory-proofs", "Completed"), ("inventory-proofs", "Failed")]

    inboxes = [told(settings, end_of_flow(alert_scope(settings), flow, state, "It said so.")) for flow, state in ends]

    assert [inbox.kinds for inbox in inboxes] == [["failed"], ["failed"], ["key_refused"], [], [], [], ["failed"]]
    assert "It said: `It said so.`" in inboxes[0].alerts[0].body


def test_files_that_are_not_moved_are_told_with_their_reasons(settings: Settings) -> None:
    """The cause is the folder: not each file is told."""
    rows = [{"detail": "No space left on device."}] * 15 + [{"detail": "Denied."}]

    inbox = told(settings, end_of_pass(alert_scope(settings), "/in/<!here>", PassReport(not_moved=rows)))

    (alert,) = inbox.alerts
    assert alert.subject == "proofsweep: verified files that are not moved: 16 (beta)"
    assert alert.cause == "not_moved\tbeta\t/in/<!here>\tNotMoved"
    assert "- 15: `No space left on device.`" in alert.body
    assert "<!here>" not in alert.body
