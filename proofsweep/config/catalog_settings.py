"""The section `[catalog]`: how a catalog is read."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from proofsweep.config.sections import Section
from proofsweep.domain.errors import UsageError
from proofsweep.domain.reading import checksums_of, columns_of, encoding_named, own_pattern, path_maps_of


def _columns(given: dict[str, str]) -> dict[str, str]:
    try:
        return columns_of(f"{role}={name}" for role, name in given.items())
    except UsageError:
        raise ValueError("names a column for audio, sidecar or id, and for nothing else") from None


def _path_map(given: tuple[str, ...]) -> tuple[str, ...]:
    try:
        path_maps_of(given)
    except UsageError:
        raise ValueError(r"must be a list like ['D:\Musik=/mnt/musik'], of absolute paths or bucket URLs") from None
    return given


def _encoding(given: str) -> str:
    try:
        return encoding_named(given)
    except UsageError:
        raise ValueError("must be an encoding of text, such as windows-1252") from None


def _checksums(given: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return checksums_of(given)
    except UsageError:
        raise ValueError("must be a list of checksum lists, and of columns like column:md5") from None


class CatalogSettings(Section):
    # names of a sidecar beside its audio; a full name goes before a stem, else the first that exists is used.
    sidecar_names: tuple[Annotated[str, AfterValidator(own_pattern)], ...] = ("{name}.sidecar", "{stem}.sidecar")
    sidecars_beside: bool = True  # whether they count for a manifest that has no column for sidecars
    # patterns of files and folders that no folder, bucket or delivery gives: of names, or with a slash of paths.
    exclude: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    # patterns of the names that producers give to files which they still write, or lay beside them.
    unfinished_names: tuple[str, ...] = (
        *("*.part", "*.partial", "*.tmp", "*.temp", "*.filepart", "*.crdownload", "*.aria2", "*.!ut", "*.!qb"),
        *("*.opdownload", "*.lftp-pget-status", "*~"),
    )
    dedupe: bool = True  # whether the same bytes with the same sidecar are verified only once
    # whether plans of a whole catalog leave out WAVs that surely carry no credential, as the option of this name does.
    skip_without_credential: bool = False
    # the folder or prefix of the files; by default the catalog's own, or the manifest's folder.
    root: Annotated[str, Field(min_length=1)] | None = None
    # whether rows that lead out of the root are ineligible, or sent like others.
    outside: Literal["deny", "allow"] = "deny"
    # stands for the catalog in item IDs; by default the last part of the root.
    name: Annotated[str, Field(min_length=1)] | None = None
    # the manifest's name of the column `audio`, `sidecar` or `id`, or `none` for the last two.
    columns: Annotated[dict[str, str], AfterValidator(_columns)] = Field(default={})
    # beginnings of a manifest's paths, and the folders that they stand for.
    path_map: Annotated[tuple[str, ...], AfterValidator(_path_map)] = ()
    # checksum lists of the catalog's files, and columns of a manifest that hold digests.
    checksums: Annotated[tuple[str, ...], AfterValidator(_checksums)] = ()
    # how manifests of text are encoded; by default their bytes say it.
    encoding: Annotated[str, AfterValidator(_encoding)] | None = None
    # the sheet of workbooks that is read; by default the first visible one.
    sheet: Annotated[str, Field(min_length=1)] | None = None
    # the line or row with the names of the columns; by default the first one that has them.
    header_row: Annotated[int, Field(ge=1)] | None = None
    # which folder below the root is the supplier, counted from 1; its tag is `ingest.supplier_tag`.
    supplier_from: Annotated[int, Field(ge=1)] | None = None

    def __hash__(self) -> int:
        """Hash it, with its mapping: worker processes know a leg by its settings."""
        return hash(self.model_dump_json())
