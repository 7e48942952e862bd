"""Every setting, from a profile and the environment; the only place that reads `os.environ`."""

import os
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from proofsweep.batch.bounds import duration_of, instant_of
from proofsweep.contract.limits import SLOT_BYTES
from proofsweep.errors import CatalogError, ConfigError, UsageError
from proofsweep.storage.locations import refuse_credentials

PROFILES = Path(__file__).resolve().parent.parent / "configs"
DEFAULT_PROFILE = "sandbox"

Bytes = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0)]


def _readable(text: str, info: ValidationInfo) -> str:
    """Refuse a time or a span of time that cannot be read while somebody is there to be told."""
    try:
        duration_of(text) if info.field_name == "max_duration" else instant_of(text, datetime.now(UTC), UTC)
    except UsageError as error:
        raise ValueError(error.message) from error
    return text


Readable = Annotated[str, AfterValidator(_readable)]


class Section(BaseModel):
    """Base of all sections: an unknown setting is an error, since it is likely a misspelt one."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ServiceSettings(Section):
    """Which service, and where its key is kept; the key itself is never a setting.

    Attributes:
        base_url: ends in `/v1` (contract, preamble).
        environment: label stored in every row.
        key_expires_at: when the key ends, once it was rotated (contract, RotatedKeyResponse: `previousKeyExpiresAt`).
        sidecar_field: wire name of the sidecar; pairs are refused until it is set (contract, Naming note).
    """

    base_url: str
    environment: Annotated[str, Field(min_length=1, max_length=40)]
    api_key_file: Path | None = None
    api_key_env: str | None = None
    api_key_block: str | None = None
    sidecar_field: Annotated[str, Field(min_length=1)] | None = None
    key_expires_at: AwareDatetime | None = None
    allow_plain_http: bool = False

    @field_validator("base_url")
    @classmethod
    def _without_trailing_slash(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0 or "?" in url or "#" in url:
            raise ValueError("must be an http(s) URL like https://host/v1")
        if parts.username is not None or parts.password is not None:
            raise ValueError("must hold no user name or password")
        if not parts.path.rstrip("/").endswith("/v1"):
            raise ValueError("must end in the path segment /v1")
        return url.rstrip("/")

    @model_validator(mode="after")
    def _is_safe(self) -> "ServiceSettings":
        parts = urlsplit(self.base_url)
        if parts.scheme == "http" and not self.allow_plain_http and not _is_loopback(parts.hostname or ""):
            raise ValueError("base_url is plain http: the key would travel readable (allow_plain_http permits it)")
        if sum(source is not None for source in (self.api_key_file, self.api_key_env, self.api_key_block)) > 1:
            raise ValueError("give only one of api_key_file, api_key_env, api_key_block")
        return self


class ResultsSettings(Section):
    """Where the tables go."""

    url: str = "results"

    @field_validator("url")
    @classmethod
    def _names_a_place_without_credentials(cls, url: str) -> str:
        if not url.strip():
            raise ValueError("the results store's place is empty")
        try:
            refuse_credentials(url)
        except CatalogError:
            raise ValueError("must hold no credentials") from None
        return url


class PaceSettings(Section):
    """How hard to work: most items in flight, and how the service's rate is learned (docs/rate-control.md)."""

    workers: Annotated[int, Field(ge=1, le=512)] = 128
    first_rate: Annotated[float, Field(gt=0)] = 6.0
    remember_days: Annotated[float, Field(ge=0)] = 7.0
    detect_cap: bool = True
    longest_pause_seconds: Seconds = 120.0


class BoundsSettings(Section):
    """How far one leg may go, unless the command says otherwise.

    Attributes:
        reserve: calls of the quota that are left to other users of the key.
        until, max_duration: when its window closes: `06:00`, `06:00 Europe/Berlin`, an ISO instant; `7h`, `90m`.
        ask_seconds: between two looks at the headroom; each costs a call (contract, Versioning 7: five minutes).
    """

    reserve: Annotated[int, Field(ge=0)] = 0
    max_calls: Annotated[int, Field(ge=1)] | None = None
    until: Readable | None = None
    max_duration: Readable | None = None
    ask_seconds: Seconds = 300.0


class LimitSettings(Section):
    """Largest sizes that are sent. Only the slot's is the contract's; the pair's is not shown, so it is a setting."""

    pair_bytes: Bytes = SLOT_BYTES
    sidecar_bytes: Bytes = 1024 * 1024


class CatalogSettings(Section):
    """How a catalog is read.

    Attributes:
        sidecar_names: how a scanned folder's sidecars are found: the first name that exists counts.
        dedupe: verify the same bytes with the same sidecar only once.
    """

    sidecar_names: tuple[str, ...] = ("{name}.sidecar", "{stem}.sidecar")
    dedupe: bool = True


class RetrySettings(Section):
    """How patient a call is, and when the service is taken to fail for everyone.

    Attributes:
        storm_verdicts: so many rows in a row that are refused alike, though they were accepted the last time, end
            the leg; 0 never does.
        storm_failures: so many rows in a row that fail alike end the leg; 0 never does.
    """

    attempts: Annotated[int, Field(ge=1, le=20)] = 5
    first_wait_seconds: Seconds = 0.5
    longest_wait_seconds: Seconds = 30.0
    breaker_failures: Annotated[int, Field(ge=2)] = 10
    breaker_seconds: Annotated[float, Field(ge=0)] = 20.0
    storm_verdicts: Annotated[int, Field(ge=0)] = 20
    storm_failures: Annotated[int, Field(ge=0)] = 100


class CanarySettings(Section):
    """Files whose answers are known, which go first in every leg.

    Attributes:
        manifest: its column `expect` says `accepted`, `rejected` or a verdict of each; None sends none ahead.
    """

    manifest: str | None = None


class TimeoutSettings(Section):
    """Seconds for each part of a call."""

    connect_seconds: Seconds = 10.0
    read_seconds: Seconds = 60.0
    write_seconds: Seconds = 60.0
    total_seconds: Seconds = 120.0


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


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _first_complaint(error: ValidationError) -> str:
    """Say what is wrong; a misspelt name comes first, as it is often why another one is missing."""
    complaints = error.errors(include_input=False, include_url=False)
    complaint = min(complaints, key=lambda each: each["type"] != "extra_forbidden")
    where = ".".join(str(part) for part in complaint["loc"]) or "service"
    is_misspelt = complaint["type"] == "extra_forbidden"
    what = "there is no such setting" if is_misspelt else complaint["msg"].removeprefix("Value error, ")
    more = f" (and {len(complaints) - 1} more)" if len(complaints) > 1 else ""
    return f"{where}: {what}{more}"
