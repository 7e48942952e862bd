"""The members of an answer that the contract does not name. Names, never values. Pure.

New response fields may come at any time (contract, Versioning 2). Nothing fails by them; but somebody wants to know,
since the partner may have published a change.
"""

from collections.abc import Mapping
from itertools import chain

from pydantic.alias_generators import to_camel

from proofsweep.domain import models
from proofsweep.domain.exchanges import Call
from proofsweep.domain.lenient import list_of_objects, object_of
from proofsweep.domain.models import Resource
from proofsweep.domain.text import printable

_MOST_NAMES = 20
_MOST_LETTERS = 60


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


def unnamed_in(call: Call, document: object, *, is_success: bool) -> tuple[str, ...]:
    """Return the names of the members that the contract does not name, sorted; inside another one as `grade.mood`.

    Long names are cut, and of many some are left out.
    """
    named = _NAMED.get(call, {}) if is_success else _ERROR
    answer = object_of(document)
    names = {_short(name) for parent, known in named.items() for name in _unknown(answer, parent, known)}
    return tuple(sorted(names)[:_MOST_NAMES])


def _unknown(answer: Mapping[str, object], parent: str, known: frozenset[str]) -> list[str]:
    if not parent:
        return [*(answer.keys() - known)]
    inner = answer.get(parent)
    names = set(chain.from_iterable(list_of_objects(inner))) if isinstance(inner, list) else set(object_of(inner))
    return [f"{parent}.{name}" for name in names - known]


def _short(name: str) -> str:
    return printable(name[:_MOST_LETTERS])[:_MOST_LETTERS]
