"""Resources are read leniently, and strictly where a member decides; no answer raises an exception."""

import json
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from proofsweep.domain import models
from proofsweep.domain.models import (
    Resource,
    VerifyResponse,
    canonical_json,
    count_of,
    instant_of,
    instant_or_iso_of,
    json_of,
    number_of,
    text_of,
)

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def test_names_in_an_answer_are_cut_and_what_it_says_is_whole() -> None:
    """So that no answer floods a table; the verdict was decided by the whole text, and no accepted one is that long."""
    long = "x" * 2_000
    answer = VerifyResponse.model_validate({"good": False, "verdict": long, "song": long, "grade": {"human": long}})

    assert (answer.verdict, answer.song, answer.grade) == ("x" * 1_000, "x" * 1_000, {"human": long})
    assert models.ApiError.model_validate({"code": long}).code == "x" * 1_000
    assert models.Interpretation.model_validate({"status": "ready", "text": long}).text == long


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (0.25, 0.25),
        (3, 3.0),
        ("0.25", 0.25),
        (" 1e2 ", 100.0),
        (True, None),
        ("high", None),
        ("", None),
        ("nan", None),
        ("Infinity", None),
        (10**400, None),
        (None, None),
        ([0.25], None),
    ],
)
def test_a_number_is_finite_or_absent(value: object, number: float | None) -> None:
    """A number may be written as text; true is not a number, although Python treats it as 1."""
    assert number_of(value) == number


@pytest.mark.parametrize(
    ("value", "count"), [(12, 12), ("12", 12), (12.0, 12), (12.5, None), (2**63, None), (-(2**63), None), (True, None)]
)
def test_a_count_is_whole_and_fits_64_bits(value: object, count: int | None) -> None:
    assert count_of(value) == count


@pytest.mark.parametrize(
    ("value", "instant"),
    [
        (1_795_176_000, NOON),
        ("1795176000", NOON),
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (253_402_300_799, datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
        (1_795_176_000_000, None),
        (-1, None),
        (True, None),
        (None, None),
    ],
)
def test_an_instant_is_in_epoch_seconds(value: object, instant: datetime | None) -> None:
    """Milliseconds and negative numbers are not instants."""
    assert instant_of(value) == instant_or_iso_of(value) == instant


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-11-20T12:00:00Z", NOON),
        ("2026-11-20T13:00:00.5+01:00", NOON.replace(microsecond=500_000)),
        ("2026-11-20T12:00:00", None),
        ("0001-01-01T00:00:00+23:00", None),
        ("yesterday", None),
    ],
)
def test_an_iso_instant_is_read_only_where_an_earlier_release_wrote_one(text: str, instant: datetime | None) -> None:
    """Contract, Versioning 6. Without an offset the hour is not known."""
    assert (instant_or_iso_of(text), instant_of(text)) == (instant, None)


def test_text_can_always_be_stored() -> None:
    """A lone surrogate is allowed in JSON but not in UTF-8: it is replaced, and the rest of the text stays."""
    assert text_of("Ж\ud800!") == "Ж?!"
    assert text_of(7) is None


@given(ANY_JSON)
def test_canonical_json_reads_back_as_the_same_value(value: object) -> None:
    assert json_of(canonical_json(value).encode()) == value


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b'{"good": true',
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": 1e999}',
        b'{"a": ' + b"9" * 5_000 + b"}",
        b'{"a": "\xff"}',
        b'"\xed\xa0\x80"',
        '{"a": 1}'.encode("utf-16"),
        b"[" * 101 + b"]" * 101,
        b'{"a":' * 500 + b"1" + b"}" * 500,
        b'{"good": false, "good": true}',
        b'{"grade": {"a": 1, "\\u0061": 2}}',
        b"[" * 100_000,
    ],
    ids=lambda body: repr(body[:16]),
)
def test_a_body_that_is_not_standard_json_is_none(body: bytes) -> None:
    """A body that is cut off, too deep, contradictory or outside the standard gives None and no exception."""
    assert json_of(body) is None


@given(st.binary())
def test_no_body_raises(body: bytes) -> None:
    json.dumps(json_of(body))


RESOURCES = [kind for kind in Resource.__subclasses__() if kind.__module__ == models.__name__]
MEMBERS = sorted({field.alias or name for kind in RESOURCES for name, field in kind.model_fields.items()})
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(alphabet=st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(MEMBERS) | st.text(), inner),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("kind", "document", "attribute", "value"),
    [
        (models.ApiError, {"error": "No.", "code": "brand_new"}, "code", "brand_new"),
        (models.ApiError, {"error": 5}, "error", None),
        (models.HealthResponse, {"ok": False, "deployedAt": 1_795_176_000}, "deployed_at", NOON),
        (models.HealthResponse, {"ok": True, "deployedAt": "2026-11-20T13:00:00+01:00"}, "deployed_at", NOON),
        (models.HealthResponse, {"ok": "yes"}, "ok", None),
        (models.PartnerKeysResponse, {}, "next_cursor", None),
        (models.PartnerKeysResponse, {"keys": None}, "keys", []),
        (models.PartnerKeysResponse, {"keys": [3, {"keyId": "k", "status": 7}]}, "keys", [{"key_id": "k"}]),
        (models.PartnerUsageResponse, {"plan": {"quotaLimit": "5000"}}, "plan", {"quota_limit": 5000.0}),
        (models.PartnerUsageResponse, {"plan": []}, "plan", {}),
        (models.PartnerUsageResponse, {"days": [{"date": "d", "used": "3"}]}, "days", [{"date": "d", "used": 3}]),
        (models.ListProofsResponse, {"items": [{"proofId": "p"}], "nextCursor": 4}, "next_cursor", None),
        (models.ListProofsResponse, {"items": [{"issuedAt": -1}]}, "items", [{}]),
        (models.EraseProofResponse, {"outcome": "already_erased"}, "erased_at", None),
        (models.Interpretation, {"status": "pending", "retryAfterSeconds": "2"}, "retry_after_seconds", 2.0),
        (models.Interpretation, {"status": "brewing"}, "status", "brewing"),
        (models.RotatedKeyResponse, {"apiKey": "s", "keyId": "k"}, "previous_key_expires_at", None),
    ],
)
def test_absent_and_mistyped_optionals_are_none(
    kind: type[Resource], document: dict[str, object], attribute: str, value: object
) -> None:
    """Members may be missing, mistyped or new at any time (contract, Versioning 2)."""
    resource = kind.model_validate({"unheardOf": [1], **document})

    assert resource.model_dump(exclude_none=True).get(attribute) == value


@pytest.mark.parametrize(
    ("kind", "document"),
    [
        (VerifyResponse, {"verdict": "valid"}),
        (VerifyResponse, {"good": 1, "verdict": "valid"}),
        (VerifyResponse, {"good": "true", "verdict": "valid"}),
        (VerifyResponse, {"good": True}),
        (VerifyResponse, {"good": True, "verdict": None}),
        (models.UploadResponse, {"uploadId": "", "url": "https://s", "fields": {}}),
        (models.UploadResponse, {"uploadId": "u", "url": "", "fields": {}}),
        (models.UploadResponse, {"uploadId": "u", "url": "https://s", "fields": {"key": 1}}),
        (models.UploadResponse, {"uploadId": "u", "url": "https://s"}),
        (models.RotatedKeyResponse, {"keyId": "k"}),
        (models.EraseProofResponse, {"proofId": "p"}),
        (models.Interpretation, {"text": "a note"}),
    ],
)
def test_what_decides_must_be_there_and_of_its_type(kind: type[Resource], document: dict[str, object]) -> None:
    """We never guess whether a credential is good, where a slot is or what a new key is."""
    with pytest.raises(ValidationError):
        kind.model_validate(document)


def test_what_may_be_secret_is_never_printed() -> None:
    resources = [
        models.UploadResponse.model_validate({"uploadId": "u", "url": "SECRET", "fields": {"policy": "SECRET"}}),
        models.RotatedKeyResponse.model_validate({"apiKey": "SECRET", "keyId": "k"}),
        models.GetProofResponse.model_validate({"sidecar": "SECRET"}),
    ]

    printed = "".join(f"{resource!r}{resource}" for resource in resources)

    assert "SECRET" not in printed


@given(document=JSON | st.dictionaries(st.sampled_from(MEMBERS), JSON))
def test_reading_raises_only_a_validation_error(document: object) -> None:
    for kind in RESOURCES:
        with suppress(ValidationError):
            kind.model_validate(document)
