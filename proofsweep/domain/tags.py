"""A catalog's own words: its tags, and how a person says what its columns, paths and checksums are."""

import codecs
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping

from proofsweep.domain.errors import UsageError
from proofsweep.domain.items import ALGORITHMS, algorithm_named
from proofsweep.domain.text import did_you_mean, printable

NAME, STEM = "{name}", "{stem}"  # of an audio file, in the pattern of its sidecar's name
SUPPLIER_TAG = "supplier"
ROLES = ("audio", "sidecar", "id")  # what a column of a manifest may be; every other one is a tag
NO_COLUMN = "none"  # stands for the name of a column: no column is the sidecar, or the id
_COLUMN = "column:"
# In a name; DuckDB reads these patterns too.
BLANKS = "[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"
UNSEEN_MARKS = "[\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]+"
# Of one letter in capitals there are several small forms, and Python and DuckDB write another one of them.
LOWER_FORMS = {"ß": "ss", "ς": "\u03c3", "i\u0307": "i"}
_MAP = re.compile(r"(.*?[^\\/].*?)=(/.*|[A-Za-z][A-Za-z0-9+.-]*://.+)")


def key_of_tag(name: str) -> str:
    """Return what two spellings of one tag have in common."""
    return name.strip().casefold()


def key_of_value(value: str) -> str:
    """Return what the spellings of one supplier have in common.

    Upper and lower case, blanks of every kind, marks that nobody sees and composed letters do not count.
    `queries.views` has the same in SQL.
    """
    seen = re.sub(UNSEEN_MARKS, "", value)
    words = re.sub(BLANKS, " ", seen).strip()
    key = unicodedata.normalize("NFC", words).lower()
    for letter, plain in LOWER_FORMS.items():
        key = key.replace(letter, plain)
    return key


def tags_of(tags_json: str | None) -> dict[str, str]:
    return json.loads(tags_json) if tags_json else {}


def tag_named(name: str, known: Iterable[str]) -> str | None:
    """Return the known spelling of a tag, the exact one first; None if no tag is known by this name."""
    names = list(known)
    if name in names:
        return name
    key = key_of_tag(name)
    for spelling in names:
        if key_of_tag(spelling) == key:
            return spelling
    return None


def tag_of(tags: Mapping[str, str], name: str) -> str | None:
    spelling = tag_named(name, tags)
    return None if spelling is None else tags[spelling]


def spellings_by_key(names: Iterable[str]) -> dict[str, list[str]]:
    by_key: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        spellings = by_key.setdefault(key_of_tag(name), [])
        spellings.append(name)
    return by_key


def known_tag(name: str, known: Iterable[str]) -> str:
    """Return the known spelling of a tag. If no row has the tag, UsageError names the tags that there are."""
    names = [spellings[0] for spellings in spellings_by_key(known).values()]
    tag = tag_named(name, names)
    if tag is not None:
        return tag
    there_are = "these rows have no tags"
    if names:
        listed = ", ".join(map(printable, names))
        there_are = f"there are {listed}"
    raise UsageError(f"No row has the tag {printable(name)!r}{did_you_mean(name, names)}; {there_are}.")


def columns_of(given: Mapping[str, str]) -> dict[str, str]:
    """Return the name of the column of each role; ValueError if one is no role, or has no column."""
    columns = {role: name.strip() for role, name in given.items()}
    has_unknown_role = not {*columns} <= {*ROLES}
    has_no_audio = columns.get(ROLES[0]) == NO_COLUMN
    if has_unknown_role or has_no_audio or not all(columns.values()):
        raise ValueError("must name a column for audio, sidecar or id, and for nothing else; none is for the last two")
    return columns


def checksums_of(written: Iterable[str], located: Callable[[str], str] = str) -> tuple[str, ...]:
    """Read `SHA256SUMS`, `column:md5` and `column:Pruefsumme:sha256`; ValueError if a column has no known algorithm.

    `located` gives the location of a list as it is kept.
    """
    checksums = list[str]()
    for checksum in written:
        if checksum.startswith(_COLUMN):
            checksums.append(_checksum_column(checksum))
        elif checksum.strip():
            checksums.append(located(checksum))
        else:
            raise ValueError("must be a list of checksum lists, and of columns like column:md5")
    return tuple(checksums)


def _checksum_column(written: str) -> str:
    """Read `column:NAME:ALGORITHM`, or `column:md5` of a column that has the algorithm's name."""
    column = written.removeprefix(_COLUMN)
    name, _, last = (part.strip() for part in column.rpartition(":"))
    algorithm = algorithm_named(last)
    name = name or last
    if not name or algorithm is None:
        algorithms = ", ".join(ALGORITHMS)
        raise ValueError(
            "must name a column as column:NAME:ALGORITHM, or as column:md5 if it has the algorithm's name; the "
            f"algorithms are {algorithms}"
        )
    return f"{_COLUMN}{name}:{algorithm}"


def checksum_lists_in(checksums: Iterable[str]) -> list[str]:
    return [checksum for checksum in checksums if not checksum.startswith(_COLUMN)]


def checksum_columns_in(checksums: Iterable[str]) -> dict[str, str]:
    """Return the names of the columns that hold digests, each with its algorithm."""
    algorithms = dict[str, str]()
    for checksum in checksums:
        if checksum.startswith(_COLUMN):
            column = checksum.removeprefix(_COLUMN)
            name, _, algorithm = column.rpartition(":")
            algorithms[name] = algorithm
    return algorithms


def path_maps_of(written: Iterable[str]) -> tuple[tuple[str, str], ...]:
    r"""Read `D:\Musik=/mnt/musik`; ValueError if one does not lead to an absolute path or a bucket URL."""
    maps = list[tuple[str, str]]()
    for path_map in written:
        match = _MAP.fullmatch(path_map)
        if match is None:
            raise ValueError(
                r"must be a list like ['D:\Musik=/mnt/musik']: beginnings of the manifest's paths, and the absolute "
                "paths or bucket URLs that they stand for"
            )
        maps.append((match[1], match[2]))
    return tuple(maps)


def encoding_named(name: str) -> str:
    """Return the codec's name of an encoding of text, such as `cp1252` of Windows-1252; ValueError if there is none."""
    try:
        codec = codecs.lookup(name.strip()).name
        "".encode(codec)  # refuses what is no encoding of text, such as base64
    except (LookupError, ValueError) as error:
        examples = "utf-8, windows-1252, utf-16, mac_roman, cp850, cp1250, cp1251, shift_jis, gb18030"
        raise ValueError(f"must be an encoding of text, like {examples}") from error
    return codec.removesuffix("-sig")


def own_pattern(pattern: str) -> str:
    """Return a pattern by which sidecars differ from other files; raise ValueError for any other."""
    # A NUL, which no file name can hold, stands for the placeholder.
    rest = pattern.replace(NAME, "\0").replace(STEM, "\0")
    if rest.count("\0") != 1 or rest == "\0" or any(sign in rest for sign in "{}/"):
        raise ValueError("must be {name} or {stem}, once, with more text and no other placeholder, like {name}.sidecar")
    return pattern
