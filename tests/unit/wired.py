"""Settings that lead to a service in this very process, and an empty store; each test has its own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from proofsweep.app import App
from proofsweep.config.load import Settings, load_settings

from .scripted_service import ScriptedService

URL = "https://partner.example/v1"
WAV = b"RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x08\0\0\0" + bytes(8)

Change = Callable[..., Settings]


@pytest.fixture(autouse=True)
def service(monkeypatch: pytest.MonkeyPatch) -> ScriptedService:
    """What every App of a test talks to."""
    service = ScriptedService()
    monkeypatch.setattr("proofsweep.client.transport.Transport", lambda *_, **__: service)
    return service


@pytest.fixture
def config(tmp_path: Path) -> str:
    """A profile with a key of its own; calls are fast, and tried twice."""
    (tmp_path / "key").write_text("pk_test\n")
    path = tmp_path / "config.toml"
    path.write_text(f"""
        [service]
        base_url = "{URL}"
        environment = "beta"
        api_key_file = "{tmp_path / "key"}"
        [results]
        url = "{tmp_path / "results"}"
        [pace]
        workers = 4
        first_rate = 10000
        [retry]
        attempts = 2
        longest_wait_seconds = 0.001
    """)
    return str(path)


@pytest.fixture
def change(config: str, monkeypatch: pytest.MonkeyPatch) -> Change:
    """Set settings by their variables in place of the file's own, and read them all."""

    def change(**variables: object) -> Settings:
        for name, value in variables.items():
            monkeypatch.setenv(f"PROOFSWEEP_{name}", str(value))
            _take_out(Path(config), name.partition("__")[2].lower())
        return load_settings(config)

    return change


@pytest.fixture
def settings(config: str) -> Settings:
    return load_settings(config)


@pytest.fixture
def app(settings: Settings) -> Iterator[App]:
    with App(settings) as app:
        yield app


@pytest.fixture
def catalog(tmp_path: Path) -> str:
    """A folder of three small WAVs."""
    folder = tmp_path / "music"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.wav").write_bytes(WAV + bytes([number]))
    return str(folder)


def _take_out(config: Path, field: str) -> None:
    """Take a field out of a config, and each source of the key for one of them."""
    taken = "api_key_" if field.startswith("api_key_") else f"{field} ="
    kept = [line for line in config.read_text().splitlines() if not line.strip().startswith(taken)]
    config.write_text("\n".join(kept))
