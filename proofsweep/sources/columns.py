"""What the header and the cells of a manifest say: the audio, the sidecar, the id, and tags. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from proofsweep.config.sections import CatalogSettings
from proofsweep.domain.items import PROOF_PREFIX, hex_digest
from proofsweep.domain.tags import NO_COLUMN, SUPPLIER_TAG, checksum_columns_in, key_of_tag, tag_named
from proofsweep.domain.text import printable
from proofsweep.sources.cells import BINARY, FORMULA, FORMULA_OF_ZERO
from proofsweep.sources.names import is_audio_name

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
        """Read a header: `audio` goes before `path`, this before `proof_id`; every column without a role is a tag.

        So is a column that was chosen as the id. A list of proofs has our own names, `id` among them, whatever is said
        of other manifests.
        """
        plain = [name.strip().lower() for name in header]
        of_files = {"audio", "path", settings.columns.get("audio", "").lower()}
        is_of_proofs = "proof_id" in plain and of_files.isdisjoint(plain)
        chosen: Mapping[str, str] = {} if is_of_proofs else settings.columns
        usual = _NAMES_OF_PROOFS if is_of_proofs else _NAMES
        found = {role: _index(header, plain, chosen.get(role), names) for role, names in usual.items()}
        audio, sidecar, item_id = found["audio"], found["sidecar"], found["id"]
        named = {} if is_of_proofs else checksum_columns_in(settings.checksums)
        digests = {name: _index(header, plain, name, ()) for name in named}
        tags: dict[str, int] = {}
        keys = {""}  # of tags without a name, and of those that are there: a row has each tag once
        for index, name in enumerate(map(str.strip, header)):
            if _ROW_NUMBERS.fullmatch(name):
                continue
            is_plain_id = index == item_id and plain[index] == "id"  # an ISRC that is the id is still an ISRC
            if index not in {audio, sidecar, *digests.values()} and not is_plain_id:
                key = key_of_tag(name)
                tags[f"{name or 'column'} ({index + 1})" if key in keys else name] = index
                keys.add(key)
        unknown = [name for role, name in chosen.items() if found[role] is None and name != NO_COLUMN]
        claimed_id = _index(header, plain, None, ("id",)) if item_id is None and "id" not in chosen else None
        return cls(
            header,
            audio,
            sidecar,
            item_id,
            tags,
            supplier=tag_named(SUPPLIER_TAG, tags),
            claimed_id=claimed_id,
            is_of_proofs=is_of_proofs or (audio is not None and plain[audio] == "proof_id"),
            unknown=[*unknown, *(name for name, index in digests.items() if index is None)],
            digests={index: named[name] for name, index in digests.items() if index is not None},
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
        known = (self.audio, self.sidecar, self.item_id, self.supplier, *self.digests)
        named = sum(bool(name.strip()) for name in self.names)
        return sum(column is not None for column in known), named

    @property
    def roles(self) -> list[tuple[str, str]]:
        """Return the names of the header, each with its role, the algorithm of its digests, or `tag`."""
        named = self.of_roles
        return [(name, self.digests.get(index) or named.get(index, "tag")) for index, name in enumerate(self.names)]

    @property
    def of_roles(self) -> dict[int | None, str]:
        return {self.audio: "audio", self.sidecar: "sidecar", self.item_id: "id"}

    def mistake_in(self, failed: Mapping[int, str]) -> str | None:
        """Return what is wrong in a row of whose cells some have no value, if one of these is no tag."""
        at = next((at for at in (self.audio, self.sidecar, self.item_id) if at in failed), None)
        if at is None:
            return None
        shown, cell = failed[at], f"the cell in the column {printable(self.names[at].strip())!r}"
        if shown == FORMULA:
            return f"{cell} is a formula that was not calculated: {_CALCULATE}."
        if shown == FORMULA_OF_ZERO:
            return f"{cell} is a formula that was not calculated, or that points to an empty cell: {_CALCULATE}."
        if shown == BINARY:
            return f"{cell} holds bytes that are no text."
        return f"{cell} shows the error {shown}: mend it in a spreadsheet program, and save the list."

    def audio_in(self, cells: Sequence[str]) -> str | None:
        cell = cell_at(cells, self.audio)
        return f"{PROOF_PREFIX}{cell.strip()}" if cell is not None and self.is_of_proofs else cell

    def id_in(self, cells: Sequence[str]) -> str | None:
        """Return the item ID of a row, which a person chose the column of; None if the row has none."""
        cell = cell_at(cells, self.item_id)
        return None if cell is None else self._value(cell)

    def name_in(self, cells: Sequence[str]) -> str | None:
        """Return what must not name two files: the item ID, or what stands in a column `id` that nobody chose."""
        cell = cell_at(cells, self.claimed_id if self.item_id is None else self.item_id)
        return None if cell is None else self._value(cell)

    def tags_in(self, cells: Sequence[str]) -> dict[str, str]:
        return {name: value for name, at in self.tags.items() if (value := self._value(cells[at]))}

    def _value(self, cell: str) -> str:
        """Return a tag or an ID without blanks, and without the `.0` that programs give to long numbers."""
        text = cell.strip()
        return _FLOAT.sub(r"\1", text) if text.endswith(".0") else text

    def digests_in(self, cells: Sequence[str]) -> tuple[dict[str, str], int]:
        """Return a row's digests by algorithm, and how many cells hold something else."""
        written = {algorithm: cells[index] for index, algorithm in self.digests.items() if cells[index].strip()}
        found = {algorithm: hex_digest(algorithm, cell) for algorithm, cell in written.items()}
        digests = {algorithm: digest for algorithm, digest in found.items() if digest is not None}
        return digests, len(found) - len(digests)


def _index(header: Sequence[str], plain: Sequence[str], chosen: str | None, names: Sequence[str]) -> int | None:
    if chosen is None:
        return next((plain.index(name) for name in names if name in plain), None)
    if chosen == NO_COLUMN:
        return None
    written = [name.strip() for name in header]
    if chosen in written:
        return written.index(chosen)
    return plain.index(chosen.lower()) if chosen.lower() in plain else None


def cell_at(cells: Sequence[str], index: int | None) -> str | None:
    text = "" if index is None else cells[index]
    return text if text.strip() else None
