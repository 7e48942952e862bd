"""What may be set: one class for each section, with its defaults and what it refuses."""

from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from proofsweep.contract.limits import SLOT_BYTES
from proofsweep.domain.budget.bounds import duration_of, instant_of
from proofsweep.errors import CatalogError, UsageError
from proofsweep.storage.locations import refuse_credentials

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
        drain_seconds: that a leg which was asked to stop leaves to what is in flight.
    """

    reserve: Annotated[int, Field(ge=0)] = 0
    max_calls: Annotated[int, Field(ge=1)] | None = None
    until: Readable | None = None
    max_duration: Readable | None = None
    ask_seconds: Seconds = 300.0
    drain_seconds: Seconds = 12.0


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


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
