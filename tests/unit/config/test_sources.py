"""Where the settings come from that decide whom a run calls, as whom, and where it writes."""

from pathlib import Path

import pytest

from proofsweep.config.load import sources_of, words_of

BASE_URL = "https://partner.example/v1"


def test_each_setting_has_its_source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A variable takes the place of a profile, the command line that of both; what has its default has no source."""
    file = tmp_path / "b.toml"
    file.write_text(f'[service]\nbase_url = "{BASE_URL}"\nenvironment = "beta"\napi_key_file = "/b"\n')
    of_file = sources_of(str(file))
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", BASE_URL)

    of_profile = sources_of("production", "/results")

    assert of_file == dict.fromkeys(("service.base_url", "service.environment", "service.api_key_file"), str(file))
    assert of_profile == {
        "service.environment": "profile production",
        "service.api_key_env": "profile production",
        "service.base_url": "PROOFSWEEP_SERVICE__BASE_URL",
        "results.url": "--results",
    }


def test_sources_are_told_in_a_clause() -> None:
    """Settings of one source stand together."""
    sources = {"service.base_url": "A", "service.environment": "b.toml", "service.api_key_file": "b.toml"}

    assert words_of(sources) == "service.base_url of A; service.environment, service.api_key_file of b.toml"
