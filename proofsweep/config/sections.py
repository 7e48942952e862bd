"""The settings: one class for each section, with defaults and checks. docs/command-line.md lists them all."""

from datetime import UTC
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from proofsweep.config.locations import refuse_credentials, split_url
from proofsweep.config.threads import utc_now
from proofsweep.domain.errors import CatalogError, UsageError
from proofsweep.domain.runs import duration_of, instant_of
from proofsweep.domain.tags import checksums_of, columns_of, encoding_named, own_pattern, path_maps_of

Seconds = Annotated[float, Field(gt=0)]


def _readable(text: str, info: ValidationInfo) -> str:
    try:
        if info.field_name == "max_duration":
            duration_of(text)
        else:
            instant_of(text, utc_now(), UTC)
    except UsageError as error:
        raise ValueError(error.message) from error
    return text


Readable = Annotated[str, AfterValidator(_readable)]


class Section(BaseModel):
    """Base of all sections: an unknown setting is an error, because it is probably misspelt."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _files_and_pairs(given: Any) -> list[Any]:  # noqa: ANN401 - what a person wrote
    pairs = list[Any]()
    entries = given if isinstance(given, list | tuple) else [None]
    for entry in entries:
        match entry:
            case str() if entry:
                pairs.append((entry, None))
            case [audio] if audio:
                pairs.append((audio, None))
            case [audio, sidecar] if audio:
                pairs.append((audio, sidecar))
            case _:
                raise ValueError('must be a list of files, and of pairs like ["song.mp3", "song.mp3.sidecar"]')
    return pairs


class ServiceSettings(Section):
    """Which service, and where its key is; the key itself is never a setting."""

    base_url: str  # ends in `/v1` (contract, preamble)
    environment: Annotated[str, Field(min_length=1, max_length=40)]  # label stored in every row
    api_key_file: Path | None = None
    api_key_env: str | None = None
    api_key_block: str | None = None
    # wire name of the sidecar; pairs are ineligible until it is set (contract, Naming note).
    sidecar_field: Annotated[str, Field(min_length=1)] | None = None
    # name of the member that holds an asset's URL; without it, the answer's only https URL is taken.
    asset_field: Annotated[str, Field(min_length=1)] | None = None
    # files that the service accepts, and pairs of audio and sidecar: `doctor` and the checks of runs ask with them.
    known_good: Annotated[tuple[tuple[str, str | None], ...], BeforeValidator(_files_and_pairs)] = ()
    allow_plain_http: bool = False

    @field_validator("base_url")
    @classmethod
    def _without_trailing_slash(cls, url: str) -> str:
        parts = split_url(url)
        if "@" in url:
            raise ValueError("must not contain a user name or password")
        if parts.scheme not in {"http", "https"} or not parts.hostname or "?" in url or "#" in url:
            raise ValueError("must be an http(s) URL like https://host/v1")
        if not parts.path.rstrip("/").endswith("/v1"):
            raise ValueError("must end in the path segment /v1")
        return url.rstrip("/")

    @model_validator(mode="after")
    def _is_safe(self) -> "ServiceSettings":
        mistakes = []
        is_plain = self.base_url.startswith("http:")
        if is_plain and self.is_elsewhere and not self.allow_plain_http:
            mistakes.append("base_url is plain http, which sends the key unencrypted (allow_plain_http permits it)")
        sources = (self.api_key_file, self.api_key_env, self.api_key_block)
        given = [source for source in sources if source is not None]
        if len(given) > 1:
            mistakes.append("give only one of api_key_file, api_key_env, api_key_block")
        if mistakes:
            raise ValueError("; ".join(mistakes))
        return self

    @property
    def is_elsewhere(self) -> bool:
        """Whether the service is not on this machine."""
        return not is_loopback(urlsplit(self.base_url).hostname or "")


class ResultsSettings(Section):
    url: str = "results"
    must_exist: bool = False  # whether only `doctor` and `deploy/register` begin a store that is not there

    @field_validator("url")
    @classmethod
    def _has_no_credentials(cls, url: str) -> str:
        if not url.strip():
            raise ValueError("must not be empty")
        try:
            refuse_credentials(url)
        except CatalogError:
            raise ValueError("must not contain credentials") from None
        return url


class PaceSettings(Section):
    workers: Annotated[int, Field(ge=1, le=512)] = 128
    first_rate: Annotated[float, Field(gt=0)] = 6.0
    longest_pause_seconds: Seconds = 120.0


class BoundsSettings(Section):
    """The limits of one leg, unless the command gives others."""

    reserve: Annotated[int, Field(ge=0)] = 0  # calls of the quota that are left to other users of the key
    max_calls: Annotated[int, Field(ge=1)] | None = None
    # until, max_duration: when the window closes: `06:00`, `06:00 Europe/Berlin`, an ISO instant; `7h`, `90m`.
    until: Readable | None = None
    max_duration: Readable | None = None
    drain_seconds: Seconds = 12.0  # time that items in flight have, retries included, once the leg is to end


class RetrySettings(Section):
    """How often a call is retried, and how a leg finds out whether a file or the world is at fault."""

    attempts: Annotated[int, Field(ge=1, le=20)] = 5
    longest_wait_seconds: Seconds = 30.0
    breaker_seconds: Annotated[float, Field(ge=0)] = 20.0  # how long probes may fail before the leg ends


class AlertsSettings(Section):
    """Who gets an alert, and when (docs/alerts.md). The URLs themselves are never settings."""

    # urls_file, urls_block: where the receivers' URLs are: a file, or a Prefect Secret block.
    urls_file: Path | None = None
    urls_block: str | None = None
    no_success_hours: Annotated[float, Field(gt=0, le=840)] = 36.0  # how long no run may have done its work

    @model_validator(mode="after")
    def _has_one_source(self) -> "AlertsSettings":
        if None not in (self.urls_file, self.urls_block):
            raise ValueError("give only one of urls_file, urls_block")
        return self


class DaskSettings(Section):
    address: str | None = None  # of the scheduler of a cluster that runs; None starts one on this machine for each run

    @field_validator("address")
    @classmethod
    def _names_a_scheduler(cls, address: str | None) -> str | None:
        parts = split_url(address or "tcp://host:1")
        if not (parts.scheme and parts.hostname and parts.port) or parts.username is not None or parts.path:
            raise ValueError("must be the address of a Dask scheduler like tcp://host:8786")
        return address


class TimeoutSettings(Section):
    # without a byte of the request being taken, or of the answer; the whole answer has twice as long.
    read_seconds: Seconds = 60.0


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine alone. Any name except `localhost` may lead elsewhere."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _path_map(given: tuple[str, ...]) -> tuple[str, ...]:
    path_maps_of(given)
    return given


USUAL_COMPLETION_FILES = ("BatchComplete*", "batch_complete*", "delivery.complete", "{folder}.complete")
ANYWHERE = "anywhere"
"""The root of a catalog whose files may lie everywhere."""


class CatalogSettings(Section):
    # names of a sidecar beside its audio; a full name goes before a stem, else the first that exists is used.
    sidecar_names: tuple[Annotated[str, AfterValidator(own_pattern)], ...] = ("{name}.sidecar", "{stem}.sidecar")
    # patterns of files and folders that no folder, bucket or delivery gives: of names, or with a slash of paths.
    exclude: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    dedupe: bool = True  # whether the same bytes with the same sidecar are verified only once
    # whether plans of a whole catalog leave out WAVs that surely carry no credential.
    skip_without_credential: bool = False
    # the folder or prefix that the files may not leave, or `anywhere`; by default the catalog's own folder.
    root: Annotated[str, Field(min_length=1)] | None = None
    # stands for the catalog in item IDs; by default the last part of the root.
    name: Annotated[str, Field(min_length=1)] | None = None
    # the manifest's name of the column `audio`, `sidecar` or `id`, or `none` for the last two.
    columns: Annotated[dict[str, str], AfterValidator(columns_of)] = Field(default={})
    # beginnings of a manifest's paths, and the folders that they stand for.
    path_map: Annotated[tuple[str, ...], AfterValidator(_path_map)] = ()
    # checksum lists of the catalog's files, and columns of a manifest that hold digests.
    checksums: Annotated[tuple[str, ...], AfterValidator(checksums_of)] = ()
    # how manifests of text are encoded; by default their bytes say it.
    encoding: Annotated[str, AfterValidator(encoding_named)] | None = None
    # the sheet of workbooks that is read; by default the first visible one.
    sheet: Annotated[str, Field(min_length=1)] | None = None
    # names of files that say that all of a batch is sent; `{folder}` stands for the name of the batch's folder.
    completion_files: tuple[Annotated[str, Field(min_length=1)], ...] = USUAL_COMPLETION_FILES
    # which folder below the root is the supplier, counted from 1.
    supplier_from: Annotated[int, Field(ge=1)] | None = None


USUAL_CATALOG = CatalogSettings()


class IngestSettings(Section):
    settle_seconds: Annotated[float, Field(ge=0)] = 10.0  # how long a file must be unchanged before it is sent
    # how long a file waits for its sidecar, or for the end that its header promises.
    pair_seconds: Annotated[float, Field(ge=0)] = 900.0
    # accepted, quarantine: folders or prefixes to which accepted and rejected files are moved; None leaves them.
    accepted: Annotated[str, Field(min_length=1)] | None = None
    quarantine: Annotated[str, Field(min_length=1)] | None = None
    # how long a delivery waits for what its messages name.
    batch_wait_seconds: Seconds = 21_600.0


ANY_SUPPLIER = "*"
"""Stands for each supplier without an entry of its own."""


class ExportSettings(Section):
    # of lists and letters, by the supplier: en, de, or a file that ends in .toml; `*` is for all other suppliers.
    languages: dict[str, str] = Field(default={})
