"""Every resource of the contract as a type (contract, Resources and their fields).

Reading is lenient: unknown members are ignored, order does not matter, an absent or mistyped optional member is None.
Reading is strict for members that decide: `good` and `verdict`, the parts of a slot, a new key's secret.
"""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, StrictBool, StrictStr
from pydantic.alias_generators import to_camel

from proofsweep.domain.lenient import Count, Flag, Instant, InstantOrIso, Number, Text, list_of_objects, object_of


class Resource(BaseModel):
    """Base of all: camelCase on the wire, unknown members ignored, immutable."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, hide_input_in_errors=True)


class ApiError(Resource):
    error: Text = None
    code: Text = None


class HealthResponse(Resource):
    """GET /health. `deployed_at` may still be the ISO string of an earlier release."""

    ok: Flag = None
    version: Text = None
    commit: Text = None
    deployed_at: InstantOrIso = None


class KeyRecord(Resource):
    """One API key's metadata. The contract does not show the values of `status`."""

    key_id: Text = None
    name: Text = None
    status: Text = None


class PartnerKeysResponse(Resource):
    """GET /partner/keys: one page, or the whole inventory."""

    keys: Annotated[list[KeyRecord], BeforeValidator(list_of_objects)] = []
    next_cursor: Text = None


class RotatedKeyResponse(Resource):
    """POST /partner/keys/rotate: the new secret. Only this answer and its replay show it.

    Nothing else is required: without it, a secret that cannot be had again would be thrown away.
    """

    api_key: SecretStr
    key_id: Text = None
    name: Text = None
    previous_key_expires_at: Instant = None


class UsagePlan(Resource):
    quota_limit: Number = None
    quota_period: Text = None


class UsageDay(Resource):
    """Counts of one UTC day. `date` is kept as received."""

    date: Text = None
    used: Count = None
    remaining: Count = None


class PartnerUsageResponse(Resource):
    """GET /partner/usage. The live headroom is in the header X-RateLimit-Remaining, not here."""

    plan: Annotated[UsagePlan, BeforeValidator(object_of)] = UsagePlan()
    days: Annotated[list[UsageDay], BeforeValidator(list_of_objects)] = []


class ProofSummary(Resource):
    proof_id: Text = None
    song: Text = None
    issued_at: Instant = None
    classification: Text = None
    has_feedback: Flag = None


class ListProofsResponse(Resource):
    """GET /proofs: newest first, without pending proofs. The last page has no cursor."""

    items: Annotated[list[ProofSummary], BeforeValidator(list_of_objects)] = []
    next_cursor: Text = None


class GetProofResponse(Resource):
    """GET /proofs/{proofId}. The client fills the sealed `sidecar` (base64) in, by its setting; it is never printed."""

    song: Text = None
    classification: Text = None
    sidecar: SecretStr | None = None


class EraseProofResponse(Resource):
    """DELETE /proofs/{proofId}: `outcome` is `erased` or `already_erased`."""

    proof_id: Text = None
    outcome: StrictStr
    erased_at: Instant = None


class EmbeddedAssetResponse(Resource):
    """GET /proofs/{proofId}/asset: a download URL under a name that the contract does not show: none is printed."""

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
    """POST /verify. Only `good` and `verdict` decide.

    The contract does not show the shapes of `grade`, `interpretation` and `embedded_credential`: their JSON is kept as
    received.
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
