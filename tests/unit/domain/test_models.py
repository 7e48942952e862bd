"""Resources are read leniently, and strictly where a member decides."""

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from proofsweep.domain import models
from proofsweep.domain.models import Resource, VerifyResponse

RESOURCES = [kind for kind in Resource.__subclasses__() if kind.__module__ == models.__name__]
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
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
        (
            models.PartnerKeysResponse,
            {"keys": [3, {"keyId": "k", "status": 7}]},
            "keys",
            [{"key_id": "k"}],
        ),
        (models.PartnerUsageResponse, {"plan": {"quotaLimit": "5000"}}, "plan", {"quota_limit": 5000.0}),
        (models.PartnerUsageResponse, {"plan": []}, "plan", {}),
        (models.PartnerUsageResponse, {"days": [{"date": "d", "used": "3"}]}, "days", [{"date": "d", "used": 3}]),
        (models.ListProofsResponse, {"items": [{"proofId": "p"}], "nextCursor": 4}, "next_cursor", None),
        (models.ListProofsResponse, {"items": [{"issuedAt": -1}]}, "items", [{}]),
        (models.EraseProofResponse, {"outcome": "already_erased"}, "erased_at", None),
        (models.Interpretation, {"status": "pending", "retryAfterSeconds": "2"}, "retry_after_seconds", 2.0),
        (models.Interpretation, {"status": "brewing"}, "status", "brewing"),
        (models.EmbeddedAssetResponse, {"members": {"where": "u"}}, "members", {"where": "u"}),
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


@pytest.mark.parametrize("strange", [None, 7, "low", [1], {"human": {"low": 1}}, {"\ud800": "\udfff"}, 10**300])
def test_report_only_parts_stay_as_received(strange: object) -> None:
    """The contract does not show their shapes, so they are kept as received and decide nothing."""
    document = {"good": True, "verdict": "valid", "grade": strange, "interpretation": strange}

    answer = VerifyResponse.model_validate(document | {"embeddedCredential": strange})

    assert (answer.good, answer.verdict) == (True, "valid")
    assert [answer.grade, answer.interpretation, answer.embedded_credential] == [strange] * 3


def test_what_may_be_secret_is_never_printed() -> None:
    """No repr shows a slot's URL and fields, a new key, a sidecar or an asset's URL."""
    resources = [
        models.UploadResponse.model_validate({"uploadId": "u", "url": "SECRET", "fields": {"policy": "SECRET"}}),
        models.RotatedKeyResponse.model_validate({"apiKey": "SECRET", "keyId": "k"}),
        models.GetProofResponse.model_validate({"sidecar": "SECRET"}),
        models.EmbeddedAssetResponse.model_validate({"members": {"url": "SECRET"}}),
    ]

    printed = "".join(f"{resource!r}{resource}" for resource in resources)

    assert "SECRET" not in printed


@pytest.mark.parametrize("kind", RESOURCES)
@given(document=JSON | st.dictionaries(st.sampled_from(MEMBERS), JSON))
def test_reading_raises_only_a_validation_error(kind: type[Resource], document: object) -> None:
    """Any JSON is read or refused; it never crashes the reader."""
    with suppress(ValidationError):
        resource = kind.model_validate(document)

        assert isinstance(resource, kind)
