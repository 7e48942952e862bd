"""Where settings come from: a profile and the environment; the only place that reads `os.environ`."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from proofsweep.errors import ConfigError
from proofsweep.settings.sections import (
    BoundsSettings,
    CanarySettings,
    CatalogSettings,
    LimitSettings,
    PaceSettings,
    ResultsSettings,
    RetrySettings,
    ServiceSettings,
    TimeoutSettings,
)

PROFILES = Path(__file__).resolve().parent.parent.parent / "configs"
DEFAULT_PROFILE = "sandbox"


class Settings(BaseSettings):
    """All settings of one process: the profile's, with the environment's above them."""

    model_config = SettingsConfigDict(
        env_prefix="PROOFSWEEP_", env_nested_delimiter="__", extra="forbid", frozen=True, env_ignore_empty=True
    )

    service: ServiceSettings
    results: ResultsSettings = ResultsSettings()
    pace: PaceSettings = PaceSettings()
    bounds: BoundsSettings = BoundsSettings()
    limits: LimitSettings = LimitSettings()
    catalog: CatalogSettings = CatalogSettings()
    retry: RetrySettings = RetrySettings()
    canary: CanarySettings = CanarySettings()
    timeouts: TimeoutSettings = TimeoutSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the signature is pydantic-settings' own
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let the environment win over the profile, which comes in as arguments."""
        return env_settings, init_settings


def load_settings(config: str | None = None, results_url: str | None = None) -> Settings:
    """Read all settings.

    Args:
        config: a profile's name or a file's path; by default `PROOFSWEEP_CONFIG`, else the sandbox's profile.
        results_url: a results store that wins over the profile's and the environment's.

    Raises:
        ConfigError: it cannot be found or read, or a setting is not what it should be. Values are not shown.
    """
    name = config if config is not None else os.environ.get("PROOFSWEEP_CONFIG") or DEFAULT_PROFILE
    path = _path_of(name)
    _refuse_unknown_sections()
    try:
        settings = Settings(**_without_overridden_key(tomllib.loads(path.read_text(encoding="utf-8"))))
        results = settings.results if results_url is None else ResultsSettings(url=results_url)
        return settings.model_copy(update={"results": results})
    except OSError as error:
        raise ConfigError(f"The config {path} cannot be read ({error.strerror}).") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"The config {path} is no TOML: {error}.") from error
    except ValidationError as error:
        raise ConfigError(f"Settings from {path} and the environment: {_first_complaint(error)}.") from None
    except ValueError as error:
        raise ConfigError(f"A PROOFSWEEP_ variable of the environment cannot be read: {error}.") from None


def environment() -> Mapping[str, str]:
    """Give the environment to whoever must look a variable up by a configured name."""
    return os.environ


def _path_of(name: str) -> Path:
    if (PROFILES / f"{name}.toml").is_file():
        return PROFILES / f"{name}.toml"
    if "/" in name or name.endswith(".toml"):
        return Path(name)
    there = ", ".join(sorted(path.stem for path in PROFILES.glob("*.toml")))
    raise ConfigError(f"There is no profile {name!r} (there are {there}); for a file, give a path that ends in .toml.")


def _refuse_unknown_sections() -> None:
    """Name a variable whose section does not exist: nobody else would, and what it sets would be lost."""
    for name in os.environ:
        section, is_nested, _ = name.upper().removeprefix("PROOFSWEEP_").lower().partition("__")
        if name.upper().startswith("PROOFSWEEP_") and is_nested and section not in Settings.model_fields:
            raise ConfigError(f"{name} sets nothing: there is no section {section!r} of settings.")


def _without_overridden_key(profile: dict[str, Any]) -> dict[str, Any]:
    """Leave out where the profile keeps the key, if the environment names another place."""
    prefix = "PROOFSWEEP_SERVICE__API_KEY_"
    if not any(name.upper().startswith(prefix) and value for name, value in os.environ.items()):
        return profile
    service = profile.get("service")
    if not isinstance(service, dict):
        return profile
    return profile | {"service": {name: value for name, value in service.items() if not name.startswith("api_key_")}}


def _first_complaint(error: ValidationError) -> str:
    """Say what is wrong; a misspelt name comes first, as it is often why another one is missing."""
    complaints = error.errors(include_input=False, include_url=False)
    complaint = min(complaints, key=lambda each: each["type"] != "extra_forbidden")
    where = ".".join(str(part) for part in complaint["loc"]) or "service"
    is_misspelt = complaint["type"] == "extra_forbidden"
    what = "there is no such setting" if is_misspelt else complaint["msg"].removeprefix("Value error, ")
    more = f" (and {len(complaints) - 1} more)" if len(complaints) > 1 else ""
    return f"{where}: {what}{more}"
