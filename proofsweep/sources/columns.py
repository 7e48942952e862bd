"""What the header and the cells of a manifest say: the audio, the sidecar, the id, and tags. Pure."""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from proofsweep.config.sections import CatalogSettings
from proofsweep.domain.items import PROOF_PREFIX, hex_digest
from proofsweep.domain.tags import NO_COLUMN, SUPPLIER_TAG, checksum_columns_in, key_of_tag, tag_named
from proofsweep.domain.text import printable
from proofsweep.files.names import is_audio_name
from proofsweep.sources.cells import BINARY, FORMULA, FORMULA_OF_ZERO

# The names of each role's column, where nobody says another; the first that is there counts. No column is the id by its
# name: spreadsheets number their rows in a column `ID`, and the second list would hide the answers of the first.
_NAMES = {"audio": ("audio", "path", "proof_id"), "sidecar": ("sidecar",), "id": ()}
_NAMES_OF_PROOFS = {**_NAMES, "id": ("id",)}  # our own form
_FLOAT = re.compile(r"^(\d{4,})\.0$")
_CALCULATE = "open the list in a spreadsheet program, and save it"
_ROW_NUMBERS = re.compile(r"__index_level_\d+__")  # pandas writes its own numbers of rows under this name


@dataclass(frozen=True, slots=True)
class Columns:
    """The position of each column; names match in any case and with spaces around them."""

    names: Sequence[str]
    audio: int | None
    sidecar: int | None
    item_id: int | None
    tags: Mapping[str, int]
    supplier: str | None = None  # of the tags, the supplier's
    claimed_id: int | None = None  # a column `id` of which nobody said what it is: a tag that may name each file
    is_of_proofs: bool = False  # the audio's column holds bare proof IDs
    unknown: Sequence[str] = ()  # names that a person gave, and that the header does not have
    digests: Mapping[int, str] = field(default_factory=dict)  # of the audio, each with its algorithm; they are no tags

    @classmethod
    def of(cls, header: Sequence[str], settings: CatalogSettings) -> "Columns":
        """Read a header. `audio` goes before `path`, and `path` before `proof_id`.

        Every column without a role is a tag, and so is a column that was chosen as the id. A list of proofs has our own
        names, `id` among them, whatever the settings say of other manifests.
        """
        plain = [name.strip().lower() for name in header]
        of_files = {"audio", "path", settings.columns.get("audio", "").lower()}
        is_of_proofs = "proof_id" in plain and of_files.isdisjoint(plain)
        usual, chosen, checksums = _NAMES, settings.columns, checksum_columns_in(settings.checksums)
        if is_of_proofs:
            usual, chosen, checksums = _NAMES_OF_PROOFS, {}, {}
        unknown = list[str]()
        roles = dict[str, int | None]()
        for role, names in usual.items():
            roles[role] = _index(header, plain, chosen.get(role), names)
        for role, name in chosen.items():
            if roles[role] is None and name != NO_COLUMN:
                unknown.append(name)
        digests = dict[int, str]()
        for name, algorithm in checksums.items():
            index = _index(header, plain, name, ())
            if index is None:
                unknown.append(name)
            else:
                digests[index] = algorithm
        audio, sidecar, item_id = roles["audio"], roles["sidecar"], roles["id"]
        claimed_id = None
        if item_id is None and "id" not in chosen:
            claimed_id = _index(header, plain, None, ("id",))
        # An ISRC that is the id is still an ISRC: only a column that is named `id` is no tag then.
        untagged = {audio, sidecar, *digests}
        if item_id is not None and plain[item_id] == "id":
            untagged.add(item_id)
        tags = _tags(header, untagged)
        return cls(
            header,
            audio,
            sidecar,
            item_id,
            tags,
            supplier=tag_named(SUPPLIER_TAG, tags),
            claimed_id=claimed_id,
            is_of_proofs=is_of_proofs or (audio is not None and plain[audio] == "proof_id"),
            unknown=unknown,
            digests=digests,
        )

    @property
    def is_header(self) -> bool:
        return self.audio is not None and not (self.unknown or self.names_audio)

    @property
    def names_audio(self) -> bool:
        return any(is_audio_name(name.strip()) for name in self.names)

    @property
    def as_header(self) -> tuple[int, int]:
        """How much of a header it is: how many columns are known, and how many have a name; nothing if it is none.

        A row of groups, such as `Audio` above `Path` and `Title`, has fewer of both than the header below it.
        """
        if not self.is_header:
            return 0, 0
        columns = (self.audio, self.sidecar, self.item_id, self.supplier, *self.digests)
        known = len(columns) - columns.count(None)
        named = sum(bool(name.strip()) for name in self.names)
        return known, named

    @property
    def roles(self) -> list[tuple[str, str]]:
        """Return the names of the header, each with its role, the algorithm of its digests, or `tag`."""
        roles = list[tuple[str, str]]()
        of_roles = self.of_roles
        for index, name in enumerate(self.names):
            role = self.digests.get(index) or of_roles.get(index, "tag")
            roles.append((name, role))
        return roles

    @property
    def of_roles(self) -> dict[int | None, str]:
        return {self.audio: "audio", self.sidecar: "sidecar", self.item_id: "id"}

    def mistake_in(self, failed: Mapping[int, str]) -> str | None:
        """Return what is wrong in a row of whose cells some have no value, if one of these is no tag."""
        for index in (self.audio, self.sidecar, self.item_id):
            if index is not None and index in failed:
                column = printable(self.names[index].strip())
                return _mistake(failed[index], f"the cell in the column {column!r}")
        return None

    def audio_in(self, cells: Sequence[str]) -> str | None:
        cell = cell_at(cells, self.audio)
        if cell is not None and self.is_of_proofs:
            return f"{PROOF_PREFIX}{cell.strip()}"
        return cell

    def id_in(self, cells: Sequence[str]) -> str | None:
        """Return the item ID of a row, which a person chose the column of; None if the row has none."""
        cell = cell_at(cells, self.item_id)
        return None if cell is None else _value_of(cell)

    def name_in(self, cells: Sequence[str]) -> str | None:
        """Return what must not name two files: the item ID, or what stands in a column `id` that nobody chose."""
        if self.item_id is not None:
            return self.id_in(cells)
        cell = cell_at(cells, self.claimed_id)
        return None if cell is None else _value_of(cell)

    def tags_in(self, cells: Sequence[str]) -> dict[str, str]:
        tags: dict[str, str] = {}
        for name, index in self.tags.items():
            value = _value_of(cells[index])
            if value:
                tags[name] = value
        return tags

    def digests_in(self, cells: Sequence[str]) -> tuple[dict[str, str], int]:
        """Return a row's digests by algorithm, and how many cells hold something else."""
        written = {algorithm: cells[index] for index, algorithm in self.digests.items() if cells[index].strip()}
        digests = dict[str, str]()
        for algorithm, cell in written.items():
            digest = hex_digest(algorithm, cell)
            if digest is not None:
                digests[algorithm] = digest
        return digests, len(written) - len(digests)


def _tags(header: Sequence[str], untagged: AbstractSet[int | None]) -> dict[str, int]:
    tags = dict[str, int]()
    keys = {""}  # of tags without a name, and of those that are there: a row has each tag once
    for index, name in enumerate(map(str.strip, header)):
        if index in untagged or _ROW_NUMBERS.fullmatch(name):
            continue
        key, tag = key_of_tag(name), name
        if key in keys:
            tag = f"{name or 'column'} ({index + 1})"
        tags[tag] = index
        keys.add(key)
    return tags


def _value_of(cell: str) -> str:
    """Return a tag or an ID without blanks, and without the `.0` that programs give to long numbers."""
    text = cell.strip()
    return _FLOAT.sub(r"\1", text) if text.endswith(".0") else text


def _mistake(shown: str, cell: str) -> str:
    if shown == FORMULA:
        return f"{cell} is a formula that was not calculated: {_CALCULATE}."
    if shown == FORMULA_OF_ZERO:
        return f"{cell} is a formula that was not calculated, or that points to an empty cell: {_CALCULATE}."
    if shown == BINARY:
        return f"{cell} holds bytes that are no text."
    return f"{cell} shows the error {shown}: mend it in a spreadsheet program, and save the list."


def _index(header: Sequence[str], plain: Sequence[str], chosen: str | None, names: Sequence[str]) -> int | None:
    if chosen is None:
        usual = [name for name in names if name in plain]
        return plain.index(usual[0]) if usual else None
    if chosen == NO_COLUMN:
        return None
    # The spelling of a person goes before one in another case: a header may have both.
    written = [name.strip() for name in header]
    if chosen in written:
        return written.index(chosen)
    lower = chosen.lower()
    return plain.index(lower) if lower in plain else None


def cell_at(cells: Sequence[str], index: int | None) -> str | None:
    if index is None:
        return None
    text = cells[index]
    return text if text.strip() else None
