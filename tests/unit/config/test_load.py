"""Settings come from a profile and the environment; a mistake in them is named in one line, without its value."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from proofsweep.config.load import PROFILES, Settings, load_settings
from proofsweep.config.sections import PaceSettings
from proofsweep.domain.errors import ConfigError

BASE_URL = "https://partner.example/v1"
Environ = pytest.MonkeyPatch


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(
        f'[service]\nbase_url = "{BASE_URL}"\nenvironment = "mine"\napi_key_env = "MY_KEY"\n[pace]\nworkers = 3\n'
    )
    return path


def mistake_in(config: str | Path) -> str:
    with pytest.raises(ConfigError) as refused:
        load_settings(str(config))
    assert "\n" not in refused.value.message
    return refused.value.message


@pytest.mark.parametrize("name", ["beta", "production"])
def test_the_partner_s_profiles_need_a_base_url(monkeypatch: Environ, name: str) -> None:
    """The contract does not state it, nor the sidecar's wire name."""
    without = mistake_in(name)
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", BASE_URL)

    service = load_settings(name).service

    assert "service.base_url" in without
    assert (service.base_url, service.environment, service.sidecar_field) == (BASE_URL, name, None)


def test_the_environment_overrides_the_profile(monkeypatch: Environ, profile: Path) -> None:
    """Each setting apart; two underscores lead into a section."""
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "7")
    monkeypatch.setenv("PROOFSWEEP_RESULTS__URL", "/elsewhere")
    monkeypatch.setenv("PROOFSWEEP_SERVICE__ENVIRONMENT", "")
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", "https://other.example/v1/")

    settings = load_settings(str(profile))

    assert (settings.pace.workers, settings.results.url) == (7, "/elsewhere")
    assert (settings.service.base_url, settings.service.environment) == ("https://other.example/v1", "mine")


def test_the_environment_can_name_the_config(monkeypatch: Environ, profile: Path) -> None:
    """An argument overrides it."""
    monkeypatch.setenv("PROOFSWEEP_CONFIG", str(profile))

    assert load_settings().service.environment == "mine"
    assert load_settings("sandbox").service.environment == "sandbox"


@pytest.mark.parametrize("source", ["FILE", "ENV", "BLOCK"])
def test_a_key_source_of_the_environment_replaces_the_profile_s(monkeypatch: Environ, source: str) -> None:
    """Two sources at once are a mistake, so the environment's source removes the profile's."""
    monkeypatch.setenv(f"PROOFSWEEP_SERVICE__API_KEY_{source}", "there")

    service = load_settings("sandbox").service

    sources = {"FILE": service.api_key_file, "ENV": service.api_key_env, "BLOCK": service.api_key_block}
    assert {name for name, place in sources.items() if place is not None} == {source}
    assert str(sources[source]) == "there"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("PROOFSWEEP_SERVICE__BASE_URLL", "service.base_urll: there is no such setting"),
        ("PROOFSWEEP_SERVICES__BASE_URL", "there is no section 'services'"),
        ("PROOFSWEEP_PACE__WORKERS", "pace.workers"),
        ("PROOFSWEEP_PACE", "pace"),
        ("PROOFSWEEP_BOUNDS__RESERVE", "bounds.reserve"),
    ],
)
def test_a_wrong_setting_is_named_without_its_value(monkeypatch: Environ, name: str, words: str) -> None:
    """The value may be a secret in the wrong variable."""
    monkeypatch.setenv(name, "SECRET")

    mistake = mistake_in("sandbox")

    assert words in mistake
    assert "SECRET" not in mistake


def test_all_mistakes_are_named_at_once(monkeypatch: Environ, tmp_path: Path) -> None:
    """A person corrects them in one go; misspelt names come first."""
    monkeypatch.setenv("PROOFSWEEP_SERVICE_BASE_URL", BASE_URL)
    monkeypatch.setenv("PROOFSWEEP_RETRY__ATTEMPTS", "21")
    (tmp_path / "mine.toml").write_text('[service]\nenvironment = ""\n[pace]\nworkres = 3\n')

    mistake = mistake_in(tmp_path / "mine.toml")

    parts = [
        "5 mistakes",
        "PROOFSWEEP_SERVICE_BASE_URL sets nothing: write PROOFSWEEP_SERVICE__BASE_URL",
        "pace.workres: there is no such setting",
        "service.base_url: must be set, in the config or as PROOFSWEEP_SERVICE__BASE_URL",
        "service.environment",
        "retry.attempts",
    ]
    places = [mistake.index(part) for part in parts]
    assert places[:3] == sorted(places[:3])

    (tmp_path / "mine.toml").write_text('[catalog]\nsheet = "Lieferung"\n')
    assert "service.environment: must be set" in mistake_in(tmp_path / "mine.toml")  # not: service


@pytest.mark.parametrize(
    "where", ["https://partner.example/v1", "https://10.0.0.1/v1", "https://localhost.example/v1", "https://127.1/v1"]
)
def test_the_sandbox_s_profile_is_refused_for_another_machine(monkeypatch: Environ, where: str) -> None:
    """Its first rate, wire name and label are wrong for a partner, and it is the default; the message names others."""
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", where)

    for config in ("sandbox", str(PROFILES / "sandbox.toml")):
        assert "--config production (or PROOFSWEEP_CONFIG=production)" in mistake_in(config)
    assert load_settings("production").pace == PaceSettings()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[service", "is not TOML"),
        (b"\xff", "is not TOML"),
        (b"[servise]\n", "servise"),
        (b"service = 3\n", "service"),
        (b"", "service"),
    ],
)
def test_a_broken_config_is_refused_in_one_line(
    monkeypatch: Environ, tmp_path: Path, content: bytes, words: str
) -> None:
    """The environment may set a key at the same time."""
    monkeypatch.setenv("PROOFSWEEP_SERVICE__API_KEY_ENV", "K")
    (tmp_path / "broken.toml").write_bytes(content)

    assert words in mistake_in(tmp_path / "broken.toml")


def test_other_variables_are_left_alone(monkeypatch: Environ) -> None:
    """A key's variable has any name; Kubernetes sets some for a service that is named proofsweep."""
    for name in (
        "SERVICE_BASE_URL",
        "PROOFSWEEP_PRODUCTION_KEY",
        "PROOFSWEEP_SERVICE_HOST",
        "PROOFSWEEP_PORT_1_TCP_ADDR",
    ):
        monkeypatch.setenv(name, "there")

    assert load_settings("sandbox").service.environment == "sandbox"


PAGE = Path(__file__).parents[3] / "docs" / "command-line.md"


def test_the_docs_list_every_setting() -> None:
    """Each setting is listed with its environment variable and default, in the order of the settings."""
    rows = re.findall(r"^\| `([\w.]+)` \| `(PROOFSWEEP_\w+)` \| `?(.*?)`? \|", PAGE.read_text(), re.MULTILINE)

    assert rows == [
        (name, f"PROOFSWEEP_{name.replace('.', '__')}".upper(), default_of(field))
        for name, field in settings_by_name(Settings)
    ]


def settings_by_name(part: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, field in part.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from settings_by_name(field.annotation, f"{name}.")
        else:
            yield prefix + name, field


def default_of(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    return "none" if field.default is None else json.dumps(field.default)


def test_there_are_at_most_forty_seven_settings() -> None:
    """Each is one that two real users set apart; what nobody would is a constant."""
    sections = [field.annotation for field in Settings.model_fields.values()]

    assert sum(len(getattr(section, "model_fields", {})) or 1 for section in sections) <= 47


def test_another_place_of_the_results_keeps_what_is_set_of_them(monkeypatch: Environ) -> None:
    """A store that must exist must do so wherever a command says that it is."""
    monkeypatch.setenv("PROOFSWEEP_RESULTS__MUST_EXIST", "true")
    settings = load_settings("sandbox", "elsewhere/results")

    assert (settings.results.url, settings.results.must_exist) == ("elsewhere/results", True)
