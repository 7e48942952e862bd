"""Read settings from a profile, the environment and a file; a mistake is named and its value never shown."""

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

import proofsweep_configs
from proofsweep.config import sections
from proofsweep.config.locations import path_here
from proofsweep.config.sections import CatalogSettings, IngestSettings
from proofsweep.domain.errors import ConfigError
from proofsweep.domain.text import did_you_mean, text_of_file

_PREFIX = "PROOFSWEEP_"
CONFIG = f"{_PREFIX}CONFIG"
PROFILES = Path(proofsweep_configs.__path__[0])
DEFAULT_PROFILE = "sandbox"

_SECRET_SOURCES = {"service": "api_key_", "alerts": "urls_"}
"""Sections with settings that say where a secret is kept, and how the names of these begin."""


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix=_PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True, env_ignore_empty=True
    )

    partitions: Annotated[int, Field(ge=1, le=64)] = 1  # of a run; each has a process of its own
    service: sections.ServiceSettings
    results: sections.ResultsSettings = sections.ResultsSettings()
    pace: sections.PaceSettings = sections.PaceSettings()
    bounds: sections.BoundsSettings = sections.BoundsSettings()
    catalog: CatalogSettings = CatalogSettings()
    ingest: IngestSettings = IngestSettings()
    export: sections.ExportSettings = sections.ExportSettings()
    retry: sections.RetrySettings = sections.RetrySettings()
    alerts: sections.AlertsSettings = sections.AlertsSettings()
    timeouts: sections.TimeoutSettings = sections.TimeoutSettings()
    dask: sections.DaskSettings = sections.DaskSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the signature is pydantic-settings' own
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return env_settings, init_settings

    def anywhere(self, results_url: str, sharers: int) -> "Settings":
        """Return the settings of one of several processes elsewhere: absolute places, and its share of the pace."""
        file = self.service.api_key_file
        service = {
            "api_key_file": None if file is None else file.absolute(),
            "known_good": tuple(
                (path_here(audio), sidecar and path_here(sidecar)) for audio, sidecar in self.service.known_good
            ),
        }
        pace = {"workers": -(-self.pace.workers // sharers), "first_rate": self.pace.first_rate / sharers}
        update = {
            "pace": self.pace.model_copy(update=pace),
            "results": self.results.model_copy(update={"url": results_url}),
            "service": self.service.model_copy(update=service),
        }
        return self.model_copy(update=update)


def load_settings(config: str | None = None, results_url: str | None = None) -> Settings:
    """Read all settings of a profile or a file: by default `PROOFSWEEP_CONFIG`, else the profile `sandbox`.

    ConfigError, whose message shows no value, if the config cannot be found or read, or a setting is wrong.
    """
    path = path_of_config(config)
    profile = without_overridden_sources(read_config(path))
    mistakes = misspelt_variables(os.environ)
    try:
        settings = Settings(**{"service": {}, **profile})  # so that each missing setting of it is named
    except ValidationError as error:
        mistakes += mistakes_in(error)
    except ValueError as error:
        mistakes += [f"a PROOFSWEEP_ variable of the environment cannot be read: {error}"]
    if mistakes:
        count = f"{len(mistakes)} mistakes: " if len(mistakes) > 1 else ""
        raise ConfigError(f"Settings from {path} and the environment: {count}{' · '.join(mistakes)}.") from None
    if path == PROFILES / f"{DEFAULT_PROFILE}.toml" and settings.service.is_elsewhere:
        raise ConfigError(
            "service.base_url is of another machine, but the profile sandbox has values for a sandbox on this one: "
            "name the partner's profile, such as --config production (or PROOFSWEEP_CONFIG=production)."
        )
    return settings if results_url is None else _with_results(settings, results_url)


def environment() -> Mapping[str, str]:
    return os.environ


def path_of_config(config: str | None) -> Path:
    """Return the file of a profile's name or a path; without one, of `PROOFSWEEP_CONFIG` or the profile `sandbox`."""
    name = config if config is not None else os.environ.get(CONFIG) or DEFAULT_PROFILE
    known = sorted(path.stem for path in PROFILES.glob("*.toml"))
    if name in known:
        return PROFILES / f"{name}.toml"
    if "/" in name or name.endswith(".toml"):
        return Path(name)
    raise ConfigError(
        f"There is no profile {name!r}{did_you_mean(name, known)}. There are {', '.join(known)}; "
        "for a file, give a path that ends in .toml."
    )


def read_config(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text_of_file(path.read_bytes()))
    except OSError as error:
        raise ConfigError(f"The config {path} cannot be read ({error.strerror}).") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"The config {path} is not TOML: {error}.") from error
    except RecursionError as error:
        raise ConfigError(f"The config {path} cannot be read: its values are nested too deeply.") from error


def without_overridden_sources(profile: dict[str, Any]) -> dict[str, Any]:
    for section, prefix in _SECRET_SOURCES.items():
        variable, members = f"{_PREFIX}{section}__{prefix}".upper(), profile.get(section)
        is_set = any(name.upper().startswith(variable) and value for name, value in os.environ.items())
        if is_set and isinstance(members, dict):
            kept = {name: value for name, value in members.items() if not name.startswith(prefix)}
            profile = profile | {section: kept}
    return profile


def _with_results(settings: Settings, url: str) -> Settings:
    try:
        results = sections.ResultsSettings.model_validate(settings.results.model_dump() | {"url": url})
        return settings.model_copy(update={"results": results})
    except ValidationError as error:
        raise ConfigError(f"--results {'; '.join(mistakes_in(error))}.") from None


def misspelt_variables(variables: Iterable[str]) -> list[str]:
    """Name each variable of the environment that looks like a setting but is none: it would be ignored in silence.

    A misspelt setting of a section that there is, the section itself finds.
    """
    with_one_underscore = {_variable_of(setting).replace("__", "_"): setting for setting in _settings()}
    mistakes = []
    for variable in sorted(variables):
        section, is_nested, _ = variable.upper().removeprefix(_PREFIX).lower().partition("__")
        if not variable.upper().startswith(_PREFIX):
            continue
        if is_nested and section not in Settings.model_fields:
            mistakes.append(f"{variable} sets nothing: there is no section {section!r}")
        elif meant := with_one_underscore.get(variable.upper()):
            mistakes.append(f"{variable} sets nothing: write {_variable_of(meant)}")
    return mistakes


def mistakes_in(error: ValidationError) -> list[str]:
    """Return what is wrong, without any value. Misspelt names come first: often another setting is missing for them."""
    found = error.errors(include_input=False, include_url=False)
    return [
        _described(".".join(map(str, each["loc"])) or "service", each["type"], each["msg"])
        for each in sorted(found, key=lambda each: each["type"] != "extra_forbidden")
    ]


def _described(where: str, kind: str, message: str) -> str:
    match kind:
        case "missing":
            return f"{where}: must be set, in the config or as {_variable_of(where)}"
        case "extra_forbidden":
            return f"{where}: there is no such {'setting' if '.' in where else 'section'}"
    return f"{where}: {message.removeprefix('Value error, ')}"


def _variable_of(setting: str) -> str:
    return _PREFIX + setting.replace(".", "__").upper()


def _settings() -> Iterator[str]:
    """Yield each setting of a section, with its section."""
    for section, field in Settings.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from (f"{section}.{name}" for name in field.annotation.model_fields)
