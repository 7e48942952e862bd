"""From the settings to those who are told; nothing that goes wrong there ends a run."""

from pathlib import Path

import pytest

from proofsweep.alerts.send import Gather
from proofsweep.app import App
from proofsweep.config.load import Settings
from proofsweep.domain.errors import ConfigError
from proofsweep.domain.operations import SecretBlocks

from ..wired import Change

BLOCKS = SecretBlocks(read={"alerts": "json://127.0.0.1/c"}.__getitem__, write=lambda _name, _text: None, delete=print)


def end_of_stop(app: App) -> Gather:
    """Tell of a run that stopped, since the service did not answer."""
    return app.alerts.end_of_flow("verify-catalog", "Outage", "It does not answer.")


def test_receivers_are_read_from_a_file_a_variable_or_a_block(
    change: Change, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The URL itself is never a setting."""
    (tmp_path / "urls").write_text("json://127.0.0.1/a")
    monkeypatch.setenv("ALERT_URLS", "json://127.0.0.1/a\njson://127.0.0.1/b")
    from_file = App(change(ALERTS__URLS_FILE=tmp_path / "urls")).receivers()
    monkeypatch.delenv("PROOFSWEEP_ALERTS__URLS_FILE")
    from_variable = App(change(ALERTS__URLS_ENV="ALERT_URLS")).receivers()
    monkeypatch.delenv("PROOFSWEEP_ALERTS__URLS_ENV")
    in_block = change(ALERTS__URLS_BLOCK="alerts")

    assert from_file is not None
    assert from_variable is not None
    from_block = App(in_block, BLOCKS).receivers()
    assert from_block is not None
    assert [len(each.names) for each in (from_file, from_variable, from_block)] == [1, 2, 1]
    with pytest.raises(ConfigError, match="Secret block"):
        App(in_block).receivers()


def test_nobody_is_told_without_a_receiver(settings: Settings) -> None:
    """Then nothing is even looked at."""
    assert App(settings).notifier() is None
    assert App(settings).tell(lambda: pytest.fail("it was looked at")) == []


def test_an_alert_that_fails_is_one_line(change: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    """A receiver that is away, a wrong file, or a mistake of this program."""
    monkeypatch.setenv("ALERT_URLS", "json://127.0.0.1:1/s3cr3t")
    app = App(change(ALERTS__URLS_ENV="ALERT_URLS"))
    (away,) = app.tell(end_of_stop(app))
    (mistake,) = app.tell(lambda: 1 / 0)  # type: ignore[arg-type,return-value]  # the mistake
    monkeypatch.delenv("ALERT_URLS")
    (wrong,) = app.tell(end_of_stop(app))

    assert away.startswith("An alert was not taken by line 1 (json) of the alert URLs;")
    assert mistake == "Nobody could be told, through a mistake of this program (ZeroDivisionError)."
    assert wrong.startswith("Nobody could be told: The environment variable ALERT_URLS holds no alert URL")
    assert "s3cr3t" not in away + wrong
