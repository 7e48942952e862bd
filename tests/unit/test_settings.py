"""Settings come from a profile and the environment, and what is wrong with them is said in one line."""

from pathlib import Path

import pytest

from proofsweep.contract.limits import SLOT_BYTES
from proofsweep.errors import ConfigError
from proofsweep.settings import load_settings

BASE_URL = "https://partner.example/v1"
Environ = pytest.MonkeyPatch


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """Give a profile of a person's own."""
    path = tmp_path / "mine.toml"
    path.write_text(
        f'[service]\nbase_url = "{BASE_URL}"\nenvironment = "mine"\napi_key_env = "MY_KEY"\n[pace]\nworkers = 3\n'
    )
    return path


def complaint_of(config: str | Path) -> str:
    """Load settings that are wrong, and give the line that says so."""
    with pytest.raises(ConfigError) as refused:
        load_settings(str(config))
    assert "\n" not in refused.value.message
    return refused.value.message


def test_the_sandbox_s_profile_is_complete() -> None:
    """It is the default, so that a newcomer sets nothing."""
    settings = load_settings()

    assert settings == load_settings("sandbox")
    assert settings.service.base_url == "http://127.0.0.1:8725/v1"
    assert settings.service.sidecar_field == "sidecar"
    assert settings.limits.pair_bytes == SLOT_BYTES


@pytest.mark.parametrize("name", ["beta", "production"])
def test_the_partner_s_profiles_want_their_address(monkeypatch: Environ, name: str) -> None:
    """It is not ours to know; neither is the sidecar's wire name."""
    without = complaint_of(name)
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", BASE_URL)

    service = load_settings(name).service

    assert "service.base_url" in without
    assert (service.base_url, service.environment, service.sidecar_field) == (BASE_URL, name, None)


def test_the_environment_wins(monkeypatch: Environ, profile: Path) -> None:
    """Setting by setting; two underscores lead into a section."""
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "7")
    monkeypatch.setenv("PROOFSWEEP_RESULTS__URL", "/elsewhere")
    monkeypatch.setenv("PROOFSWEEP_SERVICE__ENVIRONMENT", "")

    settings = load_settings(str(profile))

    assert (settings.pace.workers, settings.results.url) == (7, "/elsewhere")
    assert (settings.service.base_url, settings.service.environment) == (BASE_URL, "mine")


def test_the_config_may_be_named_by_the_environment(monkeypatch: Environ, profile: Path) -> None:
    """An argument still wins over it."""
    monkeypatch.setenv("PROOFSWEEP_CONFIG", str(profile))

    assert load_settings().service.environment == "mine"
    assert load_settings("sandbox").service.environment == "sandbox"


@pytest.mark.parametrize("source", ["FILE", "ENV", "BLOCK"])
def test_a_key_source_of_the_environment_replaces_the_profile_s(monkeypatch: Environ, source: str) -> None:
    """Two sources at once would be a mistake, so one that is set from outside leaves no other."""
    monkeypatch.setenv(f"PROOFSWEEP_SERVICE__API_KEY_{source}", "there")

    service = load_settings("sandbox").service

    sources = {"FILE": service.api_key_file, "ENV": service.api_key_env, "BLOCK": service.api_key_block}
    assert {name for name, place in sources.items() if place is not None} == {source}
    assert str(sources[source]) == "there"


def test_two_key_sources_are_one_too_many(monkeypatch: Environ) -> None:
    """Nobody guesses which is meant."""
    monkeypatch.setenv("PROOFSWEEP_SERVICE__API_KEY_FILE", "a")
    monkeypatch.setenv("PROOFSWEEP_SERVICE__API_KEY_ENV", "b")

    assert "give only one of api_key_file" in complaint_of("sandbox")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("PROOFSWEEP_SERVICE__BASE_URLL", "service.base_urll: there is no such setting"),
        ("PROOFSWEEP_SERVICES__BASE_URL", "there is no section 'services'"),
        ("PROOFSWEEP_PACE__WORKERS", "pace.workers"),
        ("PROOFSWEEP_PACE", "pace"),
        ("PROOFSWEEP_LIMITS__PAIR_BYTES", "limits.pair_bytes"),
    ],
)
def test_a_misspelt_or_mistyped_setting_is_named_unshown(monkeypatch: Environ, name: str, words: str) -> None:
    """The value may be a secret that got into the wrong variable."""
    monkeypatch.setenv(name, "SECRET")

    complaint = complaint_of("sandbox")

    assert words in complaint
    assert "SECRET" not in complaint


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[service", "is no TOML"),
        (b"\xff", "is no TOML"),
        (b"[servise]\n", "servise"),
        (b"service = 3\n", "service"),
        (b"", "service"),
    ],
)
def test_a_broken_config_is_one_line(monkeypatch: Environ, tmp_path: Path, content: bytes, words: str) -> None:
    """Whatever is wrong with it, and also while the environment sets a key."""
    monkeypatch.setenv("PROOFSWEEP_SERVICE__API_KEY_ENV", "K")
    (tmp_path / "broken.toml").write_bytes(content)

    assert words in complaint_of(tmp_path / "broken.toml")


def test_a_config_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A path as a path, a name with the names that there are."""
    assert "cannot be read (No such file" in complaint_of(tmp_path / "none.toml")
    assert "beta, ingest, nightly, production, sandbox" in complaint_of("producton")


@pytest.mark.parametrize(
    "url",
    [
        "http://partner.example/v1",
        "http://127.evil.example/v1",
        "http://localhost.evil.example/v1",
        "http://10.0.0.1/v1",
        "https://partner.example",
        "https://partner.example/v2",
        "https://partner.example/xv1",
        "https://partner.example/v1/verify",
        "https://partner.example/v1?a=b",
        "https://partner.example/v1?",
        "https://partner.example/v1#x",
        "https://user:SECRET@partner.example/v1",
        "https://partner.example:port/v1",
        "https:///v1",
        "ftp://partner.example/v1",
        "partner.example/v1",
    ],
)
def test_a_base_url_that_is_wrong_or_unsafe_is_refused(monkeypatch: Environ, url: str) -> None:
    """The key travels to it: readable by nobody, and to nobody else."""
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", url)

    complaint = complaint_of("beta")

    assert "service" in complaint
    assert "SECRET" not in complaint


@pytest.mark.parametrize(
    ("url", "as_used"),
    [
        ("https://partner.example/v1/", "https://partner.example/v1"),
        ("https://partner.example/behind/gateway/v1", "https://partner.example/behind/gateway/v1"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("http://127.9.9.9/v1", "http://127.9.9.9/v1"),
        ("http://[::1]/v1", "http://[::1]/v1"),
        ("http://localhost:1/v1", "http://localhost:1/v1"),
    ],
)
def test_a_base_url_over_tls_or_on_loopback_is_taken(monkeypatch: Environ, url: str, as_used: str) -> None:
    """A slash at its end makes no difference."""
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", url)

    assert load_settings("beta").service.base_url == as_used


def test_plain_http_elsewhere_must_be_allowed_in_so_many_words(monkeypatch: Environ) -> None:
    """A sandbox in a container is reached by its name."""
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", "http://sandbox:8725/v1")
    monkeypatch.setenv("PROOFSWEEP_SERVICE__ALLOW_PLAIN_HTTP", "true")

    assert load_settings("sandbox").service.base_url == "http://sandbox:8725/v1"


@pytest.mark.parametrize("url", ["s3://key:SECRET@bucket/prefix", "https://SECRET@host/x"])
def test_a_results_url_with_credentials_is_refused(monkeypatch: Environ, url: str) -> None:
    """It is printed, stored in plans and given to tasks."""
    monkeypatch.setenv("PROOFSWEEP_RESULTS__URL", url)

    complaint = complaint_of("sandbox")

    assert "results.url: must hold no credentials" in complaint
    assert "SECRET" not in complaint
