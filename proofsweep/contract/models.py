"""Every resource of the contract as a type (contract, Resources and their fields).

Reading is lenient: unknown members are passed over, order does not matter, an absent or mistyped optional
is None. It is strict where meaning hangs on it: `good` and `verdict` of a verification, the parts of a slot,
a new key's secret.
"""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, StrictBool, StrictStr
from pydantic.alias_generators import to_camel

from proofsweep.contract.lenient import Count, Flag, Instant, InstantOrIso, Number, Text, list_of_objects, object_of


class Resource(BaseModel):
    """Base of all: camelCase on the wire, unknown members passed over, immutable."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, hide_input_in_errors=True)


class ApiError(Resource):
    """The body of every error."""

    error: Text = None
    code: Text = None


class HealthResponse(Resource):
    """GET /health. `deployed_at` was an ISO string in an earlier release, and may be one."""

    ok: Flag = None
    version: Text = None
    commit: Text = None
    deployed_at: InstantOrIso = None


class KeyRecord(Resource):
    """One API key's metadata; the values of `status` are not shown by the contract."""

    key_id: Text = None
    name: Text = None
    status: Text = None


class PartnerKeysResponse(Resource):
    """GET /partner/keys: one page, or the whole inventory."""

    keys: Annotated[list[KeyRecord], BeforeValidator(list_of_objects)] = []
    next_cursor: Text = None


class RotatedKeyResponse(Resource):
    """POST /partner/keys/rotate: the new secret, visible only here and in a replay."""

    api_key: SecretStr
    key_id: StrictStr
    name: Text = None
    previous_key_expires_at: Instant = None


class UsagePlan(Resource):
    """The quota of the caller's plan."""

    quota_limit: Number = None
    quota_period: Text = None


class UsageDay(Resource):
    """Counts of one UTC day; `date` stays the label that was received."""

    date: Text = None
    used: Count = None
    remaining: Count = None


class PartnerUsageResponse(Resource):
    """GET /partner/usage. The live headroom is not in here but in the header X-RateLimit-Remaining."""

    plan: Annotated[UsagePlan, BeforeValidator(object_of)] = UsagePlan()
    days: Annotated[list[UsageDay], BeforeValidator(list_of_objects)] = []


class ProofSummary(Resource):
    """One item of GET /proofs."""

    proof_id: Text = None
    song: Text = None
    issued_at: Instant = None
    classification: Text = None
    has_feedback: Flag = None


class ListProofsResponse(Resource):
    """GET /proofs: newest first, pending proofs left out; the last page has no cursor."""

    items: Annotated[list[ProofSummary], BeforeValidator(list_of_objects)] = []
    next_cursor: Text = None


class GetProofResponse(Resource):
    """GET /proofs/{proofId}: display fields, and the sealed sidecar as base64.

    The sidecar's wire name is a setting of the client, which fills it in; it is never printed.
    """

    song: Text = None
    classification: Text = None
    sidecar: SecretStr | None = None


class EraseProofResponse(Resource):
    """DELETE /proofs/{proofId}: `outcome` is `erased` or `already_erased`."""

    proof_id: Text = None
    outcome: StrictStr
    erased_at: Instant = None


class EmbeddedAssetResponse(Resource):
    """GET /proofs/{proofId}/asset: a short-lived download URL.

    The contract does not show the name of its field, so all members are kept, unprinted.
    """

    members: dict[str, object] = Field(repr=False)


class Interpretation(Resource):
    """GET /proofs/{proofId}/interpretation: `status` is `pending`, `ready` or `unavailable`."""

    status: StrictStr
    text: Text = None
    retry_after_seconds: Number = None
    policy_version: Text = None


class UploadResponse(Resource):
    """POST /uploads: a short-lived presigned slot. Its URL and fields are secrets."""

    upload_id: StrictStr = Field(min_length=1)
    url: SecretStr = Field(min_length=1)
    fields: dict[StrictStr, StrictStr] = Field(repr=False)


class VerifyResponse(Resource):
    """POST /verify. Only `good` and `verdict` decide; the rest is kept as received.

    `grade`, `interpretation` and `embedded_credential` are report-only or of unstated shape: whatever JSON
    came stays as it is.
    """

    good: StrictBool
    verdict: StrictStr
    proof_id: Text = None
    song: Text = None
    issued_at: Instant = None
    classification: Text = None
    grade: object = None
    interpretation: object = None
    embedded_credential: object = None
