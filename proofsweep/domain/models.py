"""Every resource of the contract, read leniently: a mistyped member is absent, never an error (contract, Resources)."""

import json
import math
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, NoReturn

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, StrictBool, StrictStr
from pydantic.alias_generators import to_camel

# Deepest nesting of an answer that is read, since writing it again is recursive.
_MAX_LEVELS = 100

# Kept of a text that names something: a proof, a song, a verdict, a code. So no answer floods a table.
_MOST_TEXT_CHARS = 1_000

# 9999-12-31T23:59:59Z, the last second that a datetime can hold.
_LAST_EPOCH_SECOND = 253_402_300_799


def text_of(value: object) -> str | None:
    """Keep text, with `?` for what UTF-8 cannot hold; anything else is absent."""
    if not isinstance(value, str):
        return None
    return value.encode("utf-8", "replace").decode()


def short_text_of(value: object) -> str | None:
    """Keep the beginning of a text, as of a name; anything else is absent."""
    if not isinstance(value, str):
        return None
    return value[:_MOST_TEXT_CHARS].encode("utf-8", "replace").decode()


def number_of(value: object) -> float | None:
    """Read a finite number, also one written as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def count_of(value: object) -> int | None:
    """Read a whole number that fits 64 bits, also one written as text."""
    number = number_of(value)
    if number is None or abs(number) >= 2**63 or not number.is_integer():
        return None
    return int(number)


def flag_of(value: object) -> bool | None:
    """Keep a boolean; anything else is unknown, which is not false."""
    return value if isinstance(value, bool) else None


def instant_of(value: object) -> datetime | None:
    """Read unix epoch seconds; out of range or mistyped is absent. Contract, Resources: all timestamps."""
    seconds = number_of(value)
    if seconds is None or not 0 <= seconds <= _LAST_EPOCH_SECOND:
        return None
    return datetime.fromtimestamp(seconds, UTC)


def instant_or_iso_of(value: object) -> datetime | None:
    """Read unix epoch seconds, or an ISO instant with its offset. Contract, Versioning 6: `deployedAt` was ISO text."""
    if isinstance(value, str):
        with suppress(ValueError, OverflowError):
            written = datetime.fromisoformat(value)
            if written.tzinfo is not None:
                return written.astimezone(UTC)
    return instant_of(value)


def object_of(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def list_of_objects(value: object) -> list[dict[str, object]]:
    if not isinstance(value, list):
        return []
    return [member for member in value if isinstance(member, dict)]


def json_of(body: bytes) -> object:
    """Parse a body as standard JSON; None if it is not.

    It is not if it has NaN, bytes that are not UTF-8, a number or a depth out of bounds, or a repeated member name.
    """
    try:
        text = body.decode("utf-8-sig")
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return None
    return None if _is_too_deep(value) else value


def canonical_json(value: object) -> str:
    written = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return written.encode("utf-8", "replace").decode()


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _finite(text: str) -> float:
    # Python reads 1e999 as infinity, which JSON cannot write again.
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("the number is too large")
    return number


def _object(members: list[tuple[str, object]]) -> dict[str, object]:
    # JSON readers differ in which value of a repeated name they take, and the values may contradict.
    read = dict(members)
    if len(read) < len(members):
        raise ValueError("a member name is repeated")
    return read


def _is_too_deep(value: object) -> bool:
    # Layer by layer: a function that calls itself would be the recursion that deep nesting breaks.
    layer, level = [value], 0
    while layer and level <= _MAX_LEVELS:
        members = list[object]()
        for parent in layer:
            if isinstance(parent, dict):
                members.extend(parent.values())
            elif isinstance(parent, list):
                members.extend(parent)
        layer, level = members, level + 1
    return level > _MAX_LEVELS


Text = Annotated[str | None, BeforeValidator(text_of)]
ShortText = Annotated[str | None, BeforeValidator(short_text_of)]
RequiredShortText = Annotated[StrictStr, AfterValidator(lambda text: text[:_MOST_TEXT_CHARS])]
Count = Annotated[int | None, BeforeValidator(count_of)]
Number = Annotated[float | None, BeforeValidator(number_of)]
Flag = Annotated[bool | None, BeforeValidator(flag_of)]
Instant = Annotated[datetime | None, BeforeValidator(instant_of)]
InstantOrIso = Annotated[datetime | None, BeforeValidator(instant_or_iso_of)]


class Resource(BaseModel):
    """Base of all: camelCase on the wire, unknown members ignored, immutable."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, hide_input_in_errors=True)


class ApiError(Resource):
    error: Text = None
    code: ShortText = None


class HealthResponse(Resource):
    """GET /health. `deployed_at` may still be the ISO string of an earlier release."""

    ok: Flag = None
    version: ShortText = None
    commit: ShortText = None
    deployed_at: InstantOrIso = None


class KeyRecord(Resource):
    """One API key's metadata. The contract does not show the values of `status`."""

    key_id: ShortText = None
    name: ShortText = None
    status: ShortText = None


class PartnerKeysResponse(Resource):
    keys: Annotated[list[KeyRecord], BeforeValidator(list_of_objects)] = []
    next_cursor: Text = None


class RotatedKeyResponse(Resource):
    """POST /partner/keys/rotate: the new secret. Only this answer and its replay show it.

    Nothing else is required: an answer that lacks something else must not lose a secret that comes only once.
    """

    api_key: SecretStr
    key_id: ShortText = None
    name: ShortText = None
    previous_key_expires_at: Instant = None


class UsagePlan(Resource):
    quota_limit: Number = None
    quota_period: ShortText = None


class UsageDay(Resource):
    """Counts of one UTC day. `date` is kept as received."""

    date: ShortText = None
    used: Count = None
    remaining: Count = None


class PartnerUsageResponse(Resource):
    """GET /partner/usage. The live headroom is in the header X-RateLimit-Remaining, not here."""

    plan: Annotated[UsagePlan, BeforeValidator(object_of)] = UsagePlan()
    days: Annotated[list[UsageDay], BeforeValidator(list_of_objects)] = []


class ProofSummary(Resource):
    proof_id: ShortText = None
    song: ShortText = None
    issued_at: Instant = None
    classification: ShortText = None
    has_feedback: Flag = None


class ListProofsResponse(Resource):
    """GET /proofs: newest first, without pending proofs. The last page has no cursor."""

    items: Annotated[list[ProofSummary], BeforeValidator(list_of_objects)] = []
    next_cursor: Text = None


class GetProofResponse(Resource):
    """GET /proofs/{proofId}. The client fills in the sealed `sidecar` (base64), by its setting. It is never printed."""

    song: ShortText = None
    classification: ShortText = None
    sidecar: SecretStr | None = None


class EraseProofResponse(Resource):
    """DELETE /proofs/{proofId}: `outcome` is `erased` or `already_erased`."""

    proof_id: ShortText = None
    outcome: RequiredShortText
    erased_at: Instant = None


class Interpretation(Resource):
    """GET /proofs/{proofId}/interpretation: `status` is `pending`, `ready` or `unavailable`."""

    status: RequiredShortText
    text: Text = None
    retry_after_seconds: Number = None
    policy_version: ShortText = None


class UploadResponse(Resource):
    """POST /uploads: a short-lived presigned slot. Its URL and fields are secrets."""

    upload_id: StrictStr = Field(min_length=1)
    url: SecretStr = Field(min_length=1)
    fields: dict[StrictStr, StrictStr] = Field(repr=False)


class VerifyResponse(Resource):
    """POST /verify. Only `good` and `verdict` decide.

    The contract does not show the shapes of `grade`, `interpretation` and `embedded_credential`: their JSON is kept as
    received.
    """

    good: StrictBool
    verdict: RequiredShortText
    proof_id: ShortText = None
    song: ShortText = None
    issued_at: Instant = None
    classification: ShortText = None
    grade: object = None
    interpretation: object = None
    embedded_credential: object = None
