"""Read settings from a profile and the environment; no other module reads `os.environ`."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from proofsweep.errors import ConfigError
from proofsweep.settings import sections

PROFILES = Path(__file__).resolve().parent.parent.parent / "configs"
DEFAULT_PROFILE = "sandbox"


class Settings(BaseSettings):
    """All settings of one process; the environment overrides the profile."""

    model_config = SettingsConfigDict(
        env_prefix="PROOFSWEEP_", env_nested_delimiter="__", extra="forbid", frozen=True, env_ignore_empty=True
    )

    service: sections.ServiceSettings
    results: sections.ResultsSettings = sections.ResultsSettings()
    pace: sections.PaceSettings = sections.PaceSettings()
    bounds: sections.BoundsSettings = sections.BoundsSettings()
    limits: sections.LimitSettings = sections.LimitSettings()
    catalog: sections.CatalogSettings = sections.CatalogSettings()
    retry: sections.RetrySettings = sections.RetrySettings()
    canary: sections.CanarySettings = sections.CanarySettings()
    timeouts: sections.TimeoutSettings = sections.TimeoutSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the signature is pydantic-settings' own
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let the environment override the profile, which is passed as arguments."""
        return env_settings, init_settings


def load_settings(config: str | None = None, results_url: str | None = None) -> Settings:
    """Read all settings.

    Args:
        config: a profile's name or a file's path; by default `PROOFSWEEP_CONFIG`, else the profile `sandbox`.
        results_url: a results store that overrides the profile and the environment.

    Raises:
        ConfigError: the config cannot be found or read, or a setting is wrong. Its message shows no value.
    """
    name = config if config is not None else os.environ.get("PROOFSWEEP_CONFIG") or DEFAULT_PROFILE
    path = _path_of(name)
    _refuse_unknown_sections()
    try:
        settings = Settings(**_without_overridden_key(tomllib.loads(path.read_text(encoding="utf-8"))))
        results = settings.results if results_url is None else sections.ResultsSettings(url=results_url)
        return settings.model_copy(update={"results": results})
    except OSError as error:
        raise ConfigError(f"The config {path} cannot be read ({error.strerror}).") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"The config {path} is not TOML: {error}.") from error
    except ValidationError as error:
        raise ConfigError(f"Settings from {path} and the environment: {_first_mistake(error)}.") from None
    except ValueError as error:
        raise ConfigError(f"A PROOFSWEEP_ variable of the environment cannot be read: {error}.") from None


def environment() -> Mapping[str, str]:
    """Give the environment to code that must read a variable whose name is a setting."""
    return os.environ


def _path_of(name: str) -> Path:
    if (PROFILES / f"{name}.toml").is_file():
        return PROFILES / f"{name}.toml"
    if "/" in name or name.endswith(".toml"):
        return Path(name)
    known = ", ".join(sorted(path.stem for path in PROFILES.glob("*.toml")))
    raise ConfigError(f"There is no profile {name!r} (there are {known}); for a file, give a path that ends in .toml.")


def _refuse_unknown_sections() -> None:
    """Refuse a variable whose section does not exist, because it would be ignored in silence."""
    for name in os.environ:
        section, is_nested, _ = name.upper().removeprefix("PROOFSWEEP_").lower().partition("__")
        if name.upper().startswith("PROOFSWEEP_") and is_nested and section not in Settings.model_fields:
            raise ConfigError(f"{name} sets nothing: there is no section {section!r} of settings.")


def _without_overridden_key(profile: dict[str, Any]) -> dict[str, Any]:
    """Drop the profile's place of the key if the environment names another."""
    prefix = "PROOFSWEEP_SERVICE__API_KEY_"
    if not any(name.upper().startswith(prefix) and value for name, value in os.environ.items()):
        return profile
    service = profile.get("service")
    if not isinstance(service, dict):
        return profile
    return profile | {"service": {name: value for name, value in service.items() if not name.startswith("api_key_")}}


def _first_mistake(error: ValidationError) -> str:
    """Say what is wrong. A misspelt name comes first, because it is often why another setting is missing."""
    mistakes = error.errors(include_input=False, include_url=False)
    first = min(mistakes, key=lambda each: each["type"] != "extra_forbidden")
    where = ".".join(str(part) for part in first["loc"]) or "service"
    is_misspelt = first["type"] == "extra_forbidden"
    what = "there is no such setting" if is_misspelt else first["msg"].removeprefix("Value error, ")
    more = f" (and {len(mistakes) - 1} more)" if len(mistakes) > 1 else ""
    return f"{where}: {what}{more}"
