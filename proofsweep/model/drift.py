"""What of an answer the contract does not name: verdicts, error codes, response fields. Names, never values. Pure.

New response fields may come at any time (contract, Versioning 2), and an unknown verdict or code is read by rules that
the contract gives. So nothing fails; but somebody wants to know, since the partner may have published a change.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice

from pydantic.alias_generators import to_camel

from proofsweep.contract import models
from proofsweep.contract.error_codes import ErrorCode
from proofsweep.contract.lenient import list_of_objects, object_of
from proofsweep.contract.models import Resource
from proofsweep.contract.verdicts import VERDICT_ACTIONS
from proofsweep.model.exchanges import Call
from proofsweep.text import printable

# Chosen: an answer of the contract has at most nine fields.
_MOST_NAMES = 20
# Chosen: the contract's longest name has 19 letters.
_MOST_LETTERS = 60
# What a receipt names of the table: a summary shows three, and says that there are others.
_MOST_IN_WORDS = 4


def _fields(kind: type[Resource]) -> frozenset[str]:
    return frozenset(map(to_camel, kind.model_fields))


_NAMED: Mapping[Call, Mapping[str, frozenset[str]]] = {
    Call.HEALTH: {"": _fields(models.HealthResponse)},
    Call.KEYS: {"": _fields(models.PartnerKeysResponse), "keys": _fields(models.KeyRecord)},
    Call.ROTATE: {"": _fields(models.RotatedKeyResponse)},
    Call.USAGE: {
        "": _fields(models.PartnerUsageResponse),
        "plan": _fields(models.UsagePlan),
        "days": _fields(models.UsageDay),
    },
    Call.PROOFS: {"": _fields(models.ListProofsResponse), "items": _fields(models.ProofSummary)},
    Call.ERASE: {"": _fields(models.EraseProofResponse)},
    Call.UPLOADS: {"": _fields(models.UploadResponse)},
    Call.VERIFY: {
        "": _fields(models.VerifyResponse),
        "grade": frozenset({"human", "ai", "unknown", "riskCategory", "rubricVersion"}),
    },
}
"""The fields of each answer that the contract shows whole. Of the others it says that further fields are not shown."""

_ERROR = {"": _fields(models.ApiError)}
_CODES = frozenset(map(str, ErrorCode))


def drift_in(call: Call, document: object, *, is_success: bool) -> tuple[str, ...]:
    """Name what an answer holds that the contract does not name, as `verdict:…`, `error_code:…` and `field:…`.

    A field inside another is written with it: `grade.mood`. Long names are cut, and of many some are left out.
    """
    named = _NAMED.get(call, {}) if is_success else _ERROR
    answer = object_of(document)
    fields = (f"field:{name}" for parent, known in named.items() for name in _unknown(answer, parent, known))
    return tuple(map(_short, islice(chain(_unknown_words(call, answer, is_success=is_success), fields), _MOST_NAMES)))


def cell_of(names: Iterable[str]) -> str:
    """Write such names as a cell."""
    return json.dumps(list(names), ensure_ascii=False)


def names_in(cell: str) -> Iterator[tuple[str, str]]:
    """Read a cell: the kind and the name of each."""
    for written in json.loads(cell):
        kind, _, name = str(written).partition(":")
        yield kind, name


def words_for(rows: Iterable[Mapping[str, object]]) -> list[str]:
    """Name the first few rows of the table `drift` in words, verdicts and error codes before fields."""
    by_kind = sorted(rows, key=lambda row: (row["kind"] == "field", row["kind"] != "verdict"))
    words = (f"{str(row['kind']).replace('_', ' ')} {row['name']}" for row in by_kind)
    return list(islice(dict.fromkeys(words), _MOST_IN_WORDS))


def _unknown_words(call: Call, answer: Mapping[str, object], *, is_success: bool) -> Iterator[str]:
    verdict, code = answer.get("verdict"), answer.get("code")
    if is_success and call is Call.VERIFY and isinstance(verdict, str) and verdict not in VERDICT_ACTIONS:
        yield f"verdict:{verdict}"
    if not is_success and isinstance(code, str) and code not in _CODES:
        yield f"error_code:{code}"


def _unknown(answer: Mapping[str, object], parent: str, known: frozenset[str]) -> list[str]:
    if not parent:
        return sorted(answer.keys() - known)
    inner = answer.get(parent)
    names = set(chain.from_iterable(list_of_objects(inner))) if isinstance(inner, list) else set(object_of(inner))
    return [f"{parent}.{name}" for name in sorted(names - known)]


def _short(name: str) -> str:
    return printable(name[:_MOST_LETTERS])[:_MOST_LETTERS]
