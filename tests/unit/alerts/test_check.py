"""A check finds what no run can tell, because it never came to its end."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.alerts.facts import end_of_leg, end_of_pass
from proofsweep.alerts.send import Gather
from proofsweep.app import App, utc_now
from proofsweep.config.load import Settings, load_settings
from proofsweep.domain.exchanges import Call
from proofsweep.domain.operations import SecretBlocks
from proofsweep.ingest.rules import PassReport
from proofsweep.queries.status import describe_run
from proofsweep.store.legs import Legs
from proofsweep.verify.attempt import supersede
from proofsweep.verify.worker import verify_slice

from ..left_behind import let_holder_die
from ..scripted_service import Scripted, ScriptedService
from ..wired import Change, Inbox


def verified(settings: Settings, config: str, catalog: str) -> str:
    """Verify a catalog; give the run's id."""
    run_id = App(settings).plan(catalog).run_id
    with App(load_settings(config)).attempt(run_id) as (_, leg):
        for piece in leg.remaining.slices():
            verify_slice(leg, piece)
    return run_id


def found(settings: Settings, *catalogs: str) -> list[str]:
    """Return the kinds of alerts that a check finds."""
    alerts, _ = App(settings).alert_check(catalogs).gather()
    return [str(alert.kind) for alert in alerts]


def pass_hours(monkeypatch: pytest.MonkeyPatch, hours: float) -> None:
    """Let a check be made so much later."""
    later = utc_now() + timedelta(hours=hours)
    monkeypatch.setattr("proofsweep.app.utc_now", lambda: later)


def test_36_hours_after_the_last_good_run_it_is_found(
    settings: Settings, config: str, catalog: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder's name may be written with a slash, or relative to the folder of the check."""
    verified(settings, config, catalog)
    pass_hours(monkeypatch, 37)
    monkeypatch.chdir(Path(catalog).parent)

    assert found(settings) == found(settings, f"{catalog}/") == found(settings, "music") == ["no_success"]


def test_a_run_whose_process_was_killed_is_found(settings: Settings, catalog: str) -> None:
    """Nobody else would tell; while its leg is alive, it is left alone."""
    plan = App(settings).plan(catalog)
    legs = Legs(App(settings).results, plan.run_id)
    legs.claim(1)
    alive = found(settings)

    let_holder_die(App(settings).results, plan, 1)

    assert (alive, found(settings)) == ([], ["crashed"])


def test_a_run_that_was_superseded_is_no_alert(settings: Settings, config: str, catalog: str) -> None:
    """Its rows are another run's; the newest run that counts is looked at instead."""
    older = App(settings).plan(catalog)
    Legs(App(settings).results, older.run_id).claim(1)
    let_holder_die(App(settings).results, older, 1)
    killed = found(settings)

    supersede(App(settings).results, older, utc_now)

    assert (killed, found(settings)) == (["crashed"], [])
    verified(settings, config, catalog)
    assert found(settings, catalog) == []


@pytest.mark.parametrize("status", [500, 404, None])
def test_a_service_that_is_down_is_said_and_no_alert(
    settings: Settings, service: ScriptedService, status: int | None
) -> None:
    """An hour's outage without a run harms nobody; the rest of the check goes on."""
    service.usual[Call.USAGE] = Scripted(status=status)
    check = App(settings).alert_check([])

    assert check.gather() == ([], [])
    assert check.skipped[0].startswith("The quota was not checked: ")


def test_a_key_that_cannot_be_read_keeps_nothing_else_from_being_found(settings: Settings, tmp_path: Path) -> None:
    """That file may be why no run has succeeded."""
    (tmp_path / "key").unlink()
    check = App(settings).alert_check(["music"])

    alerts, _ = check.gather()

    assert [alert.kind for alert in alerts] == ["no_success"]
    assert "key cannot be read" in check.skipped[0]


def test_the_end_of_a_recorded_rotation_is_found(
    settings: Settings, service: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A day before it, although no setting says it; rotations of another environment are not told."""
    service.script[Call.ROTATE] = [Scripted(status=201, document={"apiKey": "pk_new", "keyId": "k2"})]
    blocks = SecretBlocks(read=str, write=lambda _name, _text: None, delete=lambda _name: None)
    App(settings, blocks).rotate_key()
    elsewhere = settings.model_copy(
        update={"service": settings.service.model_copy(update={"environment": "production"})}
    )

    assert "key_expires" not in found(settings)
    pass_hours(monkeypatch, 50)
    assert "key_expires" in found(settings)
    assert "key_expires" not in found(elsewhere)


def told(settings: Settings, gather: Gather) -> Inbox:
    """Tell one; fail if there is a complaint."""
    inbox = Inbox()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(App, "receivers", lambda _app: inbox)
        assert App(settings).tell(gather) == []
    return inbox


def test_a_key_that_ends_soon_is_told_at_the_end_of_any_run(change: Change, config: str, catalog: str) -> None:
    """Also of one that went well."""
    settings = change(SERVICE__KEY_EXPIRES_AT=(datetime.now(UTC) + timedelta(hours=3)).isoformat())
    run = describe_run(App(settings).results, verified(settings, config, catalog))

    assert told(settings, end_of_leg(App(settings).alerts, run)).kinds == ["key_expires"]


def test_files_that_are_not_moved_are_told_with_their_reasons(settings: Settings) -> None:
    """The cause is the folder: not each file is told."""
    rows = [{"detail": "No space left on device."}] * 15 + [{"detail": "Denied."}]

    inbox = told(settings, end_of_pass(App(settings).alerts, "/in/<!here>", PassReport(not_moved=rows)))

    (alert,) = inbox.alerts
    assert alert.subject == "proofsweep: verified files that are not moved: 16 (beta)"
    assert alert.cause == "not_moved\tbeta\t/in/<!here>\tNotMoved"
    assert "- 15: `No space left on device.`" in alert.body
    assert "<!here>" not in alert.body
