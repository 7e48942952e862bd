"""Read settings from a profile, the environment and a file; a mistake is named and its value never shown."""

import os
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

import proofsweep_configs
from proofsweep.config import sections
from proofsweep.config.locations import path_here
from proofsweep.config.sections import CatalogSettings, IngestSettings
from proofsweep.domain.errors import ConfigError
from proofsweep.domain.text import ALIKE, ask_for, did_you_mean, printable, text_of_file

Names = Mapping[str, Collection[str]]
"""The settings of each section."""

_PREFIX = "PROOFSWEEP_"
CONFIG = f"{_PREFIX}CONFIG"
PROFILES = Path(proofsweep_configs.__path__[0])
DEFAULT_PROFILE = "sandbox"

DECIDING = (
    "service.base_url",
    "service.environment",
    "service.api_key_file",
    "service.api_key_env",
    "service.api_key_block",
    "results.url",
)
"""Settings of which a wrong one calls another partner, as another caller, or mixes two stores."""

_SECRET_SOURCES = {"service": "api_key_", "alerts": "urls_"}
"""Sections with settings that say where a secret is kept, and how the names of these begin."""


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix="PROOFSWEEP_", env_nested_delimiter="__", extra="forbid", frozen=True, env_ignore_empty=True
    )

    partitions: Annotated[int, Field(ge=1, le=64)] = 1  # of a run; each has a process of its own
    service: sections.ServiceSettings
    results: sections.ResultsSettings = sections.ResultsSettings()
    pace: sections.PaceSettings = sections.PaceSettings()
    bounds: sections.BoundsSettings = sections.BoundsSettings()
    catalog: CatalogSettings = CatalogSettings()
    ingest: IngestSettings = IngestSettings()
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

    def anywhere(self, results_url: str, sharers: int = 1) -> "Settings":
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

    ConfigError if the config cannot be found or read, a setting is wrong, or a variable contradicts a file of a
    person's own on whom a run calls or where it writes. Its message shows no value.
    """
    path = path_of_config(config)
    profile = read_config(path)
    if path.parent != PROFILES:
        for setting, variable in contradicted(profile, os.environ):  # perhaps left over from another service
            raise ConfigError(
                f"The config {printable(str(path))} sets {setting}, and the variable {variable} says otherwise: "
                "unset the variable, or take the setting out of the file."
            )
    profile = without_overridden_sources(profile)
    mistakes = misspelt_variables(os.environ, _names(), _secret_variables(profile))
    try:
        settings = Settings(**{"service": {}, **profile})  # so that each missing setting of it is named
    except ValidationError as error:
        mistakes += mistakes_in(error, _names())
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
    if (PROFILES / f"{name}.toml").is_file():
        return PROFILES / f"{name}.toml"
    if "/" in name or name.endswith(".toml"):
        return Path(name)
    known = sorted(path.stem for path in PROFILES.glob("*.toml"))
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


def sources_of(config: str | None = None, results_url: str | None = None) -> dict[str, str]:
    """Return of each deciding setting the file or the variable that it comes from; one with its default is not there.

    ConfigError if the config cannot be found or read.
    """
    path = path_of_config(config)
    profile = read_config(path)
    name = f"profile {path.stem}" if path.parent == PROFILES else printable(str(path))
    given = {variable.upper() for variable, value in os.environ.items() if value}
    file = without_overridden_sources(profile)
    found = {setting: name for setting in DECIDING if value_in(file, setting) is not None}
    found |= {setting: variable_of(setting) for setting in DECIDING if variable_of(setting) in given}
    return found if results_url is None else found | {"results.url": "--results"}


def words_of(sources: Mapping[str, str]) -> str:
    """Return in one clause where deciding settings come from: `service.base_url of X; results.url of Y`."""
    by_source: dict[str, list[str]] = {}
    for setting, source in sources.items():
        by_source.setdefault(source, []).append(setting)
    return "; ".join(f"{', '.join(settings)} of {source}" for source, settings in by_source.items())


def contradicted(file: Mapping[str, Any], variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each deciding setting of a file that a variable contradicts, with the variable's name.

    Two sources of the key contradict each other whatever their kinds are.
    """
    given = {variable.upper(): value for variable, value in variables.items() if value}
    keys = [name for name in DECIDING if "api_key" in name]
    for setting in DECIDING:
        own = value_in(file, setting)
        for other in keys if setting in keys else [setting]:
            said = given.get(variable_of(other))
            if None not in (own, said) and (other != setting or str(said).rstrip("/") != str(own).rstrip("/")):
                yield setting, variable_of(other)


def value_in(file: Mapping[str, Any], setting: str) -> object:
    section, _, name = setting.partition(".")
    return _members(file, section).get(name)


def _members(profile: Mapping[str, Any], section: str) -> dict[str, Any]:
    members = profile.get(section)
    return members if isinstance(members, dict) else {}


def without_overridden_sources(profile: dict[str, Any]) -> dict[str, Any]:
    for section, prefix in _SECRET_SOURCES.items():
        variable = f"PROOFSWEEP_{section}__{prefix}".upper()
        if any(name.upper().startswith(variable) and value for name, value in os.environ.items()):
            members = _members(profile, section)
            kept = {name: value for name, value in members.items() if not name.startswith(prefix)}
            profile = profile | ({section: kept} if members else {})
    return profile


def _with_results(settings: Settings, url: str) -> Settings:
    try:
        return settings.model_copy(update={"results": sections.ResultsSettings(url=url)})
    except ValidationError as error:
        raise ConfigError(f"--results {'; '.join(mistakes_in(error, {}))}.") from None


def misspelt_variables(variables: Iterable[str], names: Names, key_variables: Collection[str]) -> list[str]:
    """Name each variable of the environment that looks like a setting but is none: it would be ignored in silence.

    `key_variables` hold a key; so does each whose name ends in `_KEY`.
    """
    asked = sorted(name for name in variables if name.upper().startswith(_PREFIX) and name not in key_variables)
    return [mistake for name in asked if (mistake := _mistake_in(name, names))]


def mistakes_in(error: ValidationError, names: Names) -> list[str]:
    """Return what is wrong, without any value. Misspelt names come first: often another setting is missing for them."""
    found = error.errors(include_input=False, include_url=False)
    return [
        _described(".".join(map(str, each["loc"])) or "service", each["type"], each["msg"], names)
        for each in sorted(found, key=lambda each: each["type"] != "extra_forbidden")
    ]


def _mistake_in(variable: str, names: Names) -> str:
    section, is_nested, field = variable.upper().removeprefix(_PREFIX).lower().partition("__")
    if section in names or (not is_nested and (section == "config" or section.endswith("_key"))):
        return ""
    meant = variable_of(_setting_like(section, field, names)) or (did_you_mean(section, ["config"]) and CONFIG)
    if is_nested:
        return f"{variable} sets nothing: there is no section {section!r}{ask_for(meant)}"
    return f"{variable} sets nothing: there is no such setting{ask_for(meant)}" if meant else ""


def _described(where: str, kind: str, message: str, names: Names) -> str:
    section, _, field = where.partition(".")
    match kind:
        case "missing":
            return f"{where}: must be set, in the config or as {variable_of(where)}"
        case "extra_forbidden" if field:
            return f"{where}: there is no such setting{ask_for(_setting_like(section, field, names))}"
        case "extra_forbidden":
            return f"{where}: there is no such section{did_you_mean(section, names)}"
    return f"{where}: {message.removeprefix('Value error, ')}"


def variable_of(setting: str) -> str:
    return setting and _PREFIX + setting.replace(".", "__").upper()


def _setting_like(section: str, field: str, names: Names) -> str:
    settings = [(each, name) for each in names for name in names[each]]
    whole = {_letters(each + name): f"{each}.{name}" for each, name in settings}
    alone = {_letters(name): f"{each}.{name}" for each, name in settings}
    for given, known in ((section + field, whole), (field or section, alone)):
        for alike in get_close_matches(_letters(given), known, 1, ALIKE):
            return known[alike]
    return ""


def _letters(name: str) -> str:
    return name.replace("_", "")


def _names() -> dict[str, list[str]]:
    kinds = {name: field.annotation for name, field in Settings.model_fields.items()}
    return {
        name: list(kind.model_fields)
        for name, kind in kinds.items()
        if isinstance(kind, type) and issubclass(kind, BaseModel)
    }


def _secret_variables(profile: dict[str, Any]) -> set[str]:
    named = value_in(profile, "service.api_key_env"), os.environ.get(variable_of("service.api_key_env"))
    return {name for name in named if isinstance(name, str)}
