"""A key is sent to its own service alone, whichever store is used."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from proofsweep.client.keys import fingerprint
from proofsweep.config.load import Settings, load_settings
from proofsweep.domain.errors import ResultsError
from proofsweep.wiring.key_sources import key_source, keys_of_machine, remember_key

URL = "https://one.example/v1"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings of a service, with a key of its own and a state folder of this test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "key").write_text("pk_one\n")
    path = tmp_path / "config.toml"
    path.write_text(f'[service]\nbase_url = "{URL}"\nenvironment = "one"\napi_key_file = "{tmp_path / "key"}"\n')
    return load_settings(str(path), str(tmp_path / "results"))


def test_a_key_that_another_service_has_taken_is_not_read_for_this_one(settings: Settings, tmp_path: Path) -> None:
    """Although the store is a new one; the message says where that is remembered, and shows no key."""
    remember_key(fingerprint(SecretStr("pk_one")), "https://two.example/v1")

    with pytest.raises(ResultsError, match=r"used with https://two\.example/v1 before; it is not sent to") as refused:
        key_source(settings, None)()

    assert str(tmp_path / "state" / "proofsweep") in refused.value.message
    assert "pk_one" not in refused.value.message


def test_a_key_of_this_service_is_read(settings: Settings) -> None:
    """The first time, and when it is remembered."""
    assert key_source(settings, None)().get_secret_value() == "pk_one"

    remember_key(fingerprint(SecretStr("pk_one")), URL)

    assert key_source(settings, None)().get_secret_value() == "pk_one"


def test_a_sandbox_of_this_machine_is_not_remembered(settings: Settings, tmp_path: Path) -> None:
    """It has its key at any port."""
    del settings

    remember_key("abc", "http://127.0.0.1:8725/v1")

    assert list(keys_of_machine("http://127.0.0.1:8725/v1")) == []
    assert not (tmp_path / "state").exists()


def test_where_nothing_can_be_remembered_the_work_goes_on(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container whose user has no home."""
    (tmp_path / "state").write_text("a file")
    loop = tmp_path / "state2"
    loop.symlink_to(loop)
    for state in ("state", "state2"):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / state))

        remember_key(fingerprint(SecretStr("pk_one")), URL)

        assert key_source(settings, None)().get_secret_value() == "pk_one"
