"""Unspecified: what the contract leaves open, and how one sandbox fills it. Pure.

Every choice keeps to all that the contract does say. The first of each is the sandbox's own; a seed draws all of them
anew, each by its own name, so that one more silence changes none of the others.
"""

from dataclasses import dataclass, field, fields
from random import Random
from typing import Self, TypeVar

_Choice = TypeVar("_Choice")


def _open(meaning: str, *choices: _Choice) -> _Choice:
    """Declare one silence; the first choice is the one without a seed."""
    return field(default=choices[0], metadata={"meaning": meaning, "choices": choices})


@dataclass(frozen=True, slots=True, kw_only=True)
class Unspecified:
    """One choice for each silence."""

    # How answers are written.
    member_order: str = _open("order of an object's members", "as_made", "sorted", "reversed")
    json_spelling: str = _open("white space and escapes in JSON", "compact", "spaced", "indented", "ascii")
    content_type: str = _open(
        "media type of JSON", "application/json", "application/json; charset=utf-8", "application/vnd.partner+json"
    )
    header_case: str = _open("case of header names", "lower", "title", "upper")
    framing: str = _open("how the end of an answer is told", "length", "chunked")
    keep_alive: bool = _open("whether connections outlive an answer", True, False)
    gateway_headers: bool = _open("headers beside the contract's, a cookie among them", False, True)

    # Errors, quota and throttle.
    code_names: str = _open("`code` of an error other than 429", "listed", "specific", "paired_otherwise")
    unknown_path: tuple[int, int] = _open("status of an unknown path; of an unknown method", (404, 405), (403, 403))
    quota_headers: str = _open("keyed answers that bear the quota's headers", "promised", "all")
    headroom_elsewhere: str = _open("`X-RateLimit-Remaining`, but for usage", "exact", "quota", "hundreds")
    retry_after_off: int = _open("seconds by which a throttle's `Retry-After` is off", 0, 2, -1)
    throttled_counts: bool = _open("whether throttled calls are counted", True, False)

    # Slots and the storage.
    purpose_omitted: str = _open("a slot without a purpose", "verify", "refused", "small")
    upload_id: str = _open("form of an uploadId", "prefixed", "uuid", "path", "digits")
    slot_lifetime: float = _open("lifetime of a slot, in `--slot-seconds`", 1.0, 0.5, 4.0)
    slot_query: str = _open("query of a slot's URL", "", "sig=a%2Bb%3D%3D&x=%C3%A9")
    policy_place: str = _open("place of the policy among the fields", "last", "first")
    odd_field: str = _open("a further field with an odd value", "none", "empty", "unicode")
    stored_status: int = _open("status of a stored upload", 204, 200, 201)
    storage_id: str = _open("header of the storage's own id", "x-amz-request-id", "x-ms-request-id", "none")
    storage_error: str = _open("body of the storage's errors", "xml", "text", "empty")
    spent_slot: int = _open("status of a form for a slot that has expired", 403, 404, 410)

    # POST /verify.
    unknown_upload: tuple[int, str] = _open(
        "an uploadId that is unknown",
        (404, "not_found"),
        (400, "invalid_request"),
        (422, "unprocessable"),
        (410, "gone"),
    )
    unfilled_upload: tuple[int, str] = _open(
        "a slot that nobody has filled", (422, "unprocessable"), (409, "conflict"), (400, "invalid_request")
    )
    bad_sidecar: tuple[int, str] = _open(
        "a sidecar that is no base64", (400, "invalid_request"), (422, "unprocessable")
    )
    rejected_quotes: str = _open("`proofId` and `song` without `valid`", "seal", "nothing", "empty")
    reports_classification: bool = _open("`classification` with `valid`", True, False)
    reports_grade: bool = _open("`grade` with `valid`", True, False)
    reports_interpretation: bool = _open("`interpretation` with `valid`", True, False)
    classification_words: str = _open("spelling of classifications", "snake", "title", "letter")
    grade_shares: str = _open("type of the grade's shares", "fraction", "percent", "text", "object", "null")
    grade_labels: str = _open("type of risk category and rubric version", "text", "number", "object")
    interpretation_shape: str = _open("`interpretation` inside verify", "note", "summary", "empty")
    embedded_credential: str = _open("`embeddedCredential`", "format", "bare", "nested", "absent")

    # Proofs, keys, usage, health.
    page_size: int = _open("items of a page where no limit is given", 50, 10, 100)
    page_shortfall: int = _open("by how many items a page may be shorter than its limit", 0, 1)
    cursor_prefix: str = _open("what an opaque cursor begins with", "", "c/+=&%3D ")
    last_cursor: str = _open("`nextCursor` of the complete inventory of keys", "absent", "null")
    proof_fields: str = _open("further fields of a proof's record", "grade", "many", "none")
    asset_field: str = _open("name of the asset's URL", "url", "downloadUrl", "href")
    repeat_erased_at: str = _open("`erasedAt` of a repeat", "erasure", "call")
    note_wait: int = _open("`retryAfterSeconds` of a pending note; 0 leaves it out", 2, 1, 0)
    note_policy: bool = _open("`policyVersion` of a ready note", True, False)
    key_status: tuple[str, str, str] = _open(
        "status of a key: in use, in its grace, expired",
        ("active", "grace", "expired"),
        ("ENABLED", "ROTATED", "DISABLED"),
        ("1", "2", "3"),
    )
    quota_period: str = _open("`quotaPeriod`", "MONTH", "monthly", "P1M")
    quota_type: str = _open("type of `quotaLimit`", "whole", "float")
    day_label: str = _open("`date` of a day, as strftime has it", "%Y-%m-%d", "%Y%m%d", "%d %b %Y")
    day_counts: str = _open("type of `used` and `remaining`", "whole", "float", "text")
    day_order: str = _open("order of the days", "oldest_first", "newest_first")
    stamps: tuple[str, str] = _open("`version` and `commit`", ("2.4.2", "sandbox"), ("2026.11.3-rc.1+7", ""))

    @classmethod
    def drawn(cls, seed: int) -> Self:
        """Draw every choice; seed 0 stands for the sandbox's own."""
        if seed == 0:
            return cls()
        chosen = {each.name: Random(f"{seed} {each.name}").choice(each.metadata["choices"]) for each in fields(cls)}  # noqa: S311 - repeatable on purpose
        return cls(**chosen)


def markdown_of_unspecified() -> str:
    """Write the silences as a table for the guide."""
    rows = [
        f"| `{each.name}` | {each.metadata['meaning']} | {_told(each.metadata['choices'])} |"
        for each in fields(Unspecified)
    ]
    return "\n".join(["| silence | what it is about | choices, ours first |", "|---|---|---|", *rows, ""])


def _told(choices: tuple[object, ...]) -> str:
    return ", ".join(f"`{choice!r}`" if choice == "" else f"`{choice}`" for choice in choices)
