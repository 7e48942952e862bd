"""Keys, wired: where a new key goes by the settings, and a rotation from settings alone."""

from pathlib import Path

import pytest

from proofsweep.app import App
from proofsweep.config.load import Settings
from proofsweep.domain.errors import ConfigError, RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.domain.operations import SecretBlocks
from proofsweep.operations.key_store import key_store_for
from proofsweep.operations.rotate import list_keys
from proofsweep.store.keys import Rotations
from proofsweep.store.operations import Operations

from ..scripted_service import Scripted, ScriptedService
from ..wired import Change

NO_BLOCKS = SecretBlocks(read=lambda name: name, write=lambda _name, _text: None, delete=lambda _name: None)
ROTATED = Scripted(status=201, document={"apiKey": "pk_new", "keyId": "k2"})


def test_the_key_of_the_settings_is_rotated(settings: Settings, service: ScriptedService, tmp_path: Path) -> None:
    """The process then goes on with the new key, and the list knows it."""
    service.script[Call.ROTATE] = [ROTATED]
    service.script[Call.KEYS] = [Scripted(document={"keys": [{"keyId": "k1"}, {"keyId": "k2"}]})]

    app = App(settings, NO_BLOCKS)
    rotated = app.rotate_key()
    listed = list_keys(app.service.partner, Rotations(Operations(app.results)).answered(), app.service.key_fingerprint)

    assert (tmp_path / "key").read_text() == "pk_new\n"
    assert rotated.rotation.environment == "beta"
    assert app.service.key.current.get_secret_value() == "pk_new"
    assert [each.is_in_use for each in listed] == [False, True]


def test_a_new_key_that_is_refused_does_not_stop_the_process(
    settings: Settings, service: ScriptedService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried in an engine of its own."""
    monkeypatch.setattr("proofsweep.client.stop.StopSwitch.rest", lambda _stop, _seconds: None)
    service.script[Call.ROTATE] = [ROTATED]
    service.script[Call.USAGE] = [Scripted(status=403)] * 5

    with pytest.raises(RunMustStop, match="could not be tested"):
        App(settings, NO_BLOCKS).rotate_key()

    assert (tmp_path / "key").read_text() == "pk_test\n"
    assert (tmp_path / "key.new").read_text() == "pk_new\n"
    assert App(settings).service.stop.reason is None


def test_a_key_in_a_variable_needs_a_file_for_the_new_one(change: Change, tmp_path: Path) -> None:
    """The message names the option; nothing was asked."""
    (tmp_path / "config.toml").write_text((tmp_path / "config.toml").read_text().replace("api_key_file", "#"))
    settings = change(SERVICE__API_KEY_ENV="THE_KEY")

    with pytest.raises(ConfigError, match=r"environment variable THE_KEY.*--new-key-file"):
        App(settings, NO_BLOCKS).rotate_key()

    assert key_store_for(settings.service, NO_BLOCKS, tmp_path / "new").name == str(tmp_path / "new")
