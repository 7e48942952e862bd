"""Unspecified behaviour: what the contract leaves open, and what one sandbox chooses. Pure.

Every choice obeys the contract. The first one is the default. A seed (`--silences`) draws each choice by its field's
name, so a new field changes none of the others. To add one, add a field here and read it where the sandbox uses it.
"""

from dataclasses import dataclass, field, fields
from random import Random
from typing import Self, TypeVar

_Value = TypeVar("_Value")


def _choice(meaning: str, *choices: _Value) -> _Value:
    """Declare one unspecified behaviour; the first choice is the default."""
    return field(default=choices[0], metadata={"meaning": meaning, "choices": choices})


@dataclass(frozen=True, slots=True, kw_only=True)
class Unspecified:
    """One choice for each behaviour that the contract leaves open."""

    # How answers are written.
    member_order: str = _choice("order of an object's members", "as_made", "sorted", "reversed")
    json_spelling: str = _choice("white space and escapes in JSON", "compact", "spaced", "indented", "ascii")
    content_type: str = _choice(
        "media type of JSON", "application/json", "application/json; charset=utf-8", "application/vnd.partner+json"
    )
    header_case: str = _choice("case of header names", "lower", "title", "upper")
    framing: str = _choice("how an answer shows its end", "length", "chunked")
    keep_alive: bool = _choice("whether connections stay open after an answer", True, False)
    gateway_headers: bool = _choice("additional headers of a gateway, with a cookie", False, True)

    # Errors, quota and throttle.
    code_names: str = _choice("`code` of an error other than 429", "listed", "specific", "paired_otherwise")
    unknown_path: tuple[int, int] = _choice("status of an unknown path; of an unknown method", (404, 405), (403, 403))
    quota_headers: str = _choice("answers with the quota headers", "promised", "all")
    headroom_elsewhere: str = _choice(
        "`X-RateLimit-Remaining` on other endpoints than usage", "exact", "quota", "hundreds"
    )
    retry_after_off: int = _choice("error of a throttle's `Retry-After`, in seconds", 0, 2, -1)
    throttled_counts: bool = _choice("whether throttled calls are counted", True, False)

    # Slots and the storage.
    purpose_omitted: str = _choice("the slot for a call without a purpose", "verify", "refused", "small")
    upload_id: str = _choice("form of an `uploadId`", "prefixed", "uuid", "path", "digits")
    slot_lifetime: float = _choice("lifetime of a slot, in `--slot-seconds`", 1.0, 0.5, 4.0)
    slot_query: str = _choice("query of a slot's URL", "", "sig=a%2Bb%3D%3D&x=%C3%A9")
    policy_place: str = _choice("place of the policy among the fields", "last", "first")
    odd_field: str = _choice("an additional field with an unusual value", "none", "empty", "unicode")
    stored_status: int = _choice("status of a stored upload", 204, 200, 201)
    storage_id: str = _choice("header of the storage's request ID", "x-amz-request-id", "x-ms-request-id", "none")
    storage_error: str = _choice("body of the storage's errors", "xml", "text", "empty")
    spent_slot: int = _choice("status for a form to an expired slot", 403, 404, 410)

    # POST /verify.
    unknown_upload: tuple[int, str] = _choice(
        "status and code for an unknown `uploadId`",
        (404, "not_found"),
        (400, "invalid_request"),
        (422, "unprocessable"),
        (410, "gone"),
    )
    unfilled_upload: tuple[int, str] = _choice(
        "status and code for an empty slot", (422, "unprocessable"), (409, "conflict"), (400, "invalid_request")
    )
    bad_sidecar: tuple[int, str] = _choice(
        "status and code for a sidecar that is not base64", (400, "invalid_request"), (422, "unprocessable")
    )
    rejected_quotes: str = _choice("`proofId` and `song` if the verdict is not `valid`", "seal", "nothing", "empty")
    reports_classification: bool = _choice("`classification` with `valid`", True, False)
    reports_grade: bool = _choice("`grade` with `valid`", True, False)
    reports_interpretation: bool = _choice("`interpretation` with `valid`", True, False)
    classification_words: str = _choice("spelling of classifications", "snake", "title", "letter")
    grade_shares: str = _choice("type of the grade's shares", "fraction", "percent", "text", "object", "null")
    grade_labels: str = _choice("type of risk category and rubric version", "text", "number", "object")
    interpretation_shape: str = _choice("`interpretation` inside verify", "note", "summary", "empty")
    embedded_credential: str = _choice("`embeddedCredential`", "format", "bare", "nested", "absent")

    # Proofs, keys, usage, health.
    page_size: int = _choice("items of a page without a limit", 50, 10, 100)
    page_shortfall: int = _choice("how many items a page has less than its limit", 0, 1)
    cursor_prefix: str = _choice("first characters of a cursor", "", "c/+=&%3D ")
    last_cursor: str = _choice("`nextCursor` of the complete list of keys", "absent", "null")
    proof_fields: str = _choice("additional fields of a proof's record", "grade", "many", "none")
    asset_field: str = _choice("name of the member with the asset's URL", "url", "downloadUrl", "href")
    repeat_erased_at: str = _choice("`erasedAt` of a repeated erasure", "erasure", "call")
    note_wait: int = _choice("`retryAfterSeconds` of a pending note; 0 means absent", 2, 1, 0)
    note_policy: bool = _choice("`policyVersion` of a ready note", True, False)
    key_status: tuple[str, str, str] = _choice(
        "status of a key: active, in its grace window, expired",
        ("active", "grace", "expired"),
        ("ENABLED", "ROTATED", "DISABLED"),
        ("1", "2", "3"),
    )
    quota_period: str = _choice("`quotaPeriod`", "MONTH", "monthly", "P1M")
    quota_type: str = _choice("type of `quotaLimit`", "whole", "float")
    day_label: str = _choice("`date` of a day, as a strftime format", "%Y-%m-%d", "%Y%m%d", "%d %b %Y")
    day_counts: str = _choice("type of `used` and `remaining`", "whole", "float", "text")
    day_order: str = _choice("order of the days", "oldest_first", "newest_first")
    stamps: tuple[str, str] = _choice("`version` and `commit`", ("2.4.2", "sandbox"), ("2026.11.3-rc.1+7", ""))

    @classmethod
    def drawn(cls, seed: int) -> Self:
        """Draw every choice from a seed; seed 0 means the defaults."""
        if seed == 0:
            return cls()
        chosen = {each.name: Random(f"{seed} {each.name}").choice(each.metadata["choices"]) for each in fields(cls)}  # noqa: S311 - repeatable on purpose
        return cls(**chosen)


def markdown_of_unspecified() -> str:
    """Return the choices as a table for the guide."""
    rows = [
        f"| `{each.name}` | {each.metadata['meaning']} | {_listed(each.metadata['choices'])} |"
        for each in fields(Unspecified)
    ]
    return "\n".join(
        ["| name | what the contract leaves open | choices, the default first |", "|---|---|---|", *rows, ""]
    )


def _listed(choices: tuple[object, ...]) -> str:
    return ", ".join(f"`{choice!r}`" if choice == "" else f"`{choice}`" for choice in choices)
