"""Read settings from a profile, the environment and a file; a mistake is named and its value never shown."""

import math
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
        known_good = list[tuple[str, str | None]]()
        for audio, sidecar in self.service.known_good:
            absolute_sidecar = sidecar and path_here(sidecar)
            known_good.append((path_here(audio), absolute_sidecar))
        service: dict[str, object] = {"known_good": tuple(known_good)}
        if self.service.api_key_file is not None:
            service["api_key_file"] = self.service.api_key_file.absolute()
        workers = math.ceil(self.pace.workers / sharers)
        first_rate = self.pace.first_rate / sharers
        update = {
            "pace": self.pace.model_copy(update={"workers": workers, "first_rate": first_rate}),
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
        told = " · ".join(mistakes)
        if len(mistakes) > 1:
            told = f"{len(mistakes)} mistakes: {told}"
        raise ConfigError(f"Settings from {path} and the environment: {told}.") from None
    # Rows of the partner's service would bear the sandbox's label.
    if path == PROFILES / f"{DEFAULT_PROFILE}.toml" and settings.service.is_elsewhere:
        raise ConfigError(
            "service.base_url is of another machine, but the profile sandbox has values for a sandbox on this one: "
            "name the partner's profile, such as --config production (or PROOFSWEEP_CONFIG=production)."
        )
    if results_url is None:
        return settings
    return _with_results(settings, results_url)


def environment() -> Mapping[str, str]:
    return os.environ


def path_of_config(config: str | None) -> Path:
    """Return the file of a profile's name or a path; without one, of `PROOFSWEEP_CONFIG` or the profile `sandbox`."""
    name = config
    if name is None:
        name = os.environ.get(CONFIG) or DEFAULT_PROFILE
    known = sorted(path.stem for path in PROFILES.glob("*.toml"))
    if name in known:
        return PROFILES / f"{name}.toml"
    if "/" in name or name.endswith(".toml"):
        return Path(name)
    profiles = ", ".join(known)
    raise ConfigError(
        f"There is no profile {name!r}{did_you_mean(name, known)}. There are {profiles}; "
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
    """Return a profile without its sources of a secret, where the environment names one: two would be a mistake."""
    for section, prefix in _SECRET_SOURCES.items():
        members = profile.get(section)
        if isinstance(members, dict) and _is_any_set(f"{_PREFIX}{section}__{prefix}"):
            kept = {name: value for name, value in members.items() if not name.startswith(prefix)}
            profile = profile | {section: kept}
    return profile


def _is_any_set(beginning: str) -> bool:
    names = [name.upper() for name, value in os.environ.items() if value]
    return any(name.startswith(beginning.upper()) for name in names)


def _with_results(settings: Settings, url: str) -> Settings:
    members = settings.results.model_dump() | {"url": url}
    try:
        results = sections.ResultsSettings.model_validate(members)
    except ValidationError as error:
        mistakes = "; ".join(mistakes_in(error))
        raise ConfigError(f"--results {mistakes}.") from None
    return settings.model_copy(update={"results": results})


def misspelt_variables(variables: Iterable[str]) -> list[str]:
    """Name each variable of the environment that looks like a setting but is none. It would be ignored in silence.

    A section itself finds the misspelt names of its settings.
    """
    meant_variables = dict[str, str]()
    for setting in _settings():
        meant = _variable_of(setting)
        meant_variables[meant.replace("__", "_")] = meant
    mistakes = []
    for variable in sorted(variables):
        name = variable.upper()
        if not name.startswith(_PREFIX):
            continue
        setting = name.removeprefix(_PREFIX).lower()
        section, is_nested, _ = setting.partition("__")
        if is_nested and section not in Settings.model_fields:
            mistakes.append(f"{variable} sets nothing: there is no section {section!r}")
        elif name in meant_variables:
            mistakes.append(f"{variable} sets nothing: write {meant_variables[name]}")
    return mistakes


def mistakes_in(error: ValidationError) -> list[str]:
    """Return what is wrong, without any value."""
    misspelt, others = list[str](), list[str]()
    for mistake in error.errors(include_input=False, include_url=False):
        where = ".".join(map(str, mistake["loc"])) or "service"
        words = _described(where, mistake["type"], mistake["msg"])
        if mistake["type"] == "extra_forbidden":
            misspelt.append(words)
        else:
            others.append(words)
    # Misspelt names come first: often another setting is missing because of them.
    return misspelt + others


def _described(where: str, kind: str, message: str) -> str:
    match kind:
        case "missing":
            return f"{where}: must be set, in the config or as {_variable_of(where)}"
        case "extra_forbidden" if "." in where:
            return f"{where}: there is no such setting"
        case "extra_forbidden":
            return f"{where}: there is no such section"
    reason = message.removeprefix("Value error, ")
    return f"{where}: {reason}"


def _variable_of(setting: str) -> str:
    return _PREFIX + setting.replace(".", "__").upper()


def _settings() -> Iterator[str]:
    """Yield each setting of a section, with its section."""
    for section, field in Settings.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            for name in kind.model_fields:
                yield f"{section}.{name}"
