"""One service for all that a process does with the same settings, with a key that belongs to it; and who is told."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from proofsweep.alerts.send import Gather
from proofsweep.app import App
from proofsweep.client.keys import fingerprint
from proofsweep.domain.errors import ConfigError, RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.verify.service import bind_key

from ..scripted_service import Scripted, ScriptedService
from ..wired import Change

BLOCKS = {"alerts": "json://127.0.0.1/c"}


def test_a_flow_shares_the_app_of_the_command_that_calls_it(app: App, change: Change) -> None:
    """What one part of a process learns of the lane, the others know; other settings may mean another lane."""
    with App.here(change()) as shared:
        service = shared.service

    assert shared is app
    assert app.service is service
    assert App.here(change(PACE__FIRST_RATE=5)) is not app


def test_a_service_that_was_stopped_is_not_used_again(app: App) -> None:
    """Its switch stays pulled; the next leg of this process needs another one."""
    stopped = app.service
    stopped.stop.pull(RunMustStop("Enough.", ended_by="cancelled"))

    fresh = app.service

    assert fresh is not stopped
    assert fresh.stop.reason is None
    assert app.service is fresh


def test_a_key_that_takes_over_must_be_this_services_too(app: App, tmp_path: Path, service: ScriptedService) -> None:
    """A key file that was overwritten with production's key leads to no call with it."""
    before = app.service.key_fingerprint
    (tmp_path / "key").write_text("pk_other")
    bind_key(app.results.store, fingerprint_of("pk_other"), "https://other.example/v1")
    service.usual[Call.USAGE] = Scripted(status=403)

    with pytest.raises(RunMustStop) as stopped:
        app.service.status()

    assert stopped.value.ended_by == "key_refused"
    assert service.calls.count(Call.USAGE) == 1
    assert fingerprint_of("pk_test") == before


def fingerprint_of(key: str) -> str:
    return fingerprint(SecretStr(key))


def end_of_stop(app: App) -> Gather:
    return app.alert_facts.end_of_flow("verify-catalog", "Outage", "It does not answer.")


def test_receivers_are_read_from_a_file_or_a_block(
    change: Change, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The URL itself is never a setting."""
    (tmp_path / "urls").write_text("json://127.0.0.1/a\njson://127.0.0.1/b")
    from_file = App(change(ALERTS__URLS_FILE=tmp_path / "urls")).receivers()
    monkeypatch.delenv("PROOFSWEEP_ALERTS__URLS_FILE")
    in_block = change(ALERTS__URLS_BLOCK="alerts")

    from_block = App(in_block, BLOCKS.__getitem__).receivers()
    assert [len(each.names) for each in (from_file, from_block) if each is not None] == [2, 1]
    with pytest.raises(ConfigError, match="Secret block"):
        App(in_block).receivers()


def test_an_alert_that_fails_is_one_line(change: Change, tmp_path: Path) -> None:
    """A receiver that is away, a wrong file, or a mistake of this program."""
    (tmp_path / "urls").write_text("json://127.0.0.1:1/s3cr3t")
    app = App(change(ALERTS__URLS_FILE=tmp_path / "urls"))
    (away,) = app.tell(end_of_stop(app))
    (mistake,) = app.tell(lambda: 1 / 0)  # type: ignore[arg-type,return-value]  # the mistake
    (tmp_path / "urls").write_text("")
    (wrong,) = app.tell(end_of_stop(app))

    assert away.startswith("An alert was not taken by line 1 (json) of the alert URLs;")
    assert mistake == "Nobody could be told, through a mistake of this program (ZeroDivisionError)."
    assert wrong.startswith(f"Nobody could be told: The file {tmp_path}/urls holds no alert URL")
    assert "s3cr3t" not in away + wrong
