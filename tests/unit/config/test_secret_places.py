"""A setting that says where a secret is kept may hold the secret itself: no message shows it then."""

from pathlib import Path

import pytest

from proofsweep.alerts.send import receivers_of
from proofsweep.client.keys import key_source
from proofsweep.config.sections import AlertsSettings, ServiceSettings
from proofsweep.domain.errors import ConfigError
from proofsweep.operations.key_store import KeyStore

KEYS = ["pk_live_9f8a7Bc6dE5f4a3B2c1d0e9f", "AKIAIOSFODNN7EXAMPLE", "Zm9vYmFyYmF6cXV4/cXV1eGNvcmdlZ3JhdWx0", "x" * 300]


def service(**where: object) -> ServiceSettings:
    return ServiceSettings.model_validate({"base_url": "https://host/v1", "environment": "beta", **where})


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("setting", ["api_key_env", "api_key_file"])
def test_a_key_in_the_place_of_its_place_is_not_shown(key: str, setting: str) -> None:
    """The setting is named instead."""
    with pytest.raises(ConfigError) as raised:
        key_source(service(**{setting: key}), {}, None)()

    assert key not in raised.value.message
    assert f"that service.{setting} names" in raised.value.message


@pytest.mark.parametrize("key", KEYS)
def test_a_rotation_does_not_show_it_either(key: str) -> None:
    """Nor does it make a key file of that name."""
    with pytest.raises(ConfigError) as raised:
        KeyStore.of(service(api_key_file=key))

    assert key not in raised.value.message


def test_a_receiver_in_the_place_of_its_file_is_not_shown() -> None:
    with pytest.raises(ConfigError) as raised:
        receivers_of(AlertsSettings(urls_file=Path("slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ")), None)

    assert "TIiajkdnlazkcOXrIdevi7FQ" not in raised.value.message


@pytest.mark.parametrize("name", ["OUR_KEY", "S3_KEY_2", "odd9name4of7mine"])
def test_a_variable_that_is_there_or_has_a_name_is_named(name: str) -> None:
    """A person must find it."""
    is_odd = name.startswith("odd")

    with pytest.raises(ConfigError, match=f"{name} holds no key"):
        key_source(service(api_key_env=name), {name: ""} if is_odd else {}, None)()


@pytest.mark.parametrize("path", ["nowhere/key", "/run/secrets/Partner-Key_2026.txt", ".proofsweep-sandbox/key"])
def test_a_missing_file_with_a_name_is_named(path: str) -> None:
    with pytest.raises(ConfigError, match=f"The key file {path} cannot be read"):
        key_source(service(api_key_file=path), {}, None)()


def test_a_file_that_is_there_is_named_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "9f8a7Bc6dE5f4a3B2c1d0e9f"
    path.touch()

    with pytest.raises(ConfigError, match=f"The key file {path} holds no key"):
        key_source(service(api_key_file=str(path)), {}, None)()
