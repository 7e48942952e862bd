"""Issuing: seal the audio, register the proof, and return the sealed file."""

import asyncio
import base64
import hashlib
import secrets
from typing import Literal

from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response

from proofsweep_sandbox.answers import Refusal, malformed, not_found
from proofsweep_sandbox.registry.proofs import Proof
from proofsweep_sandbox.seals.identity import Identity, Signer
from proofsweep_sandbox.seals.wave import NotSignable
from proofsweep_sandbox.service import Service


class IssueQuery(BaseModel):
    """The options of a new proof, by default of the first tenant; a stranger's is never registered."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    song: str = "Untitled"
    tenant: str | None = None
    legacy: bool = False
    sealed_by: Signer = Signer.SERVICE
    registered: bool = True
    pending: bool = False
    note: Literal["ready", "unavailable"] = "ready"


async def issue(service: Service, request: Request) -> Response:
    """Seal the audio in the body; return the credentialed WAV, or the sidecar of a legacy pair.

    A one-file proof has a sidecar too, which is bound to the credentialed copy.
    """
    query = IssueQuery.model_validate(dict(request.query_params))
    tenant, audio = known_tenant(service, query.tenant), await request.body()
    if not audio:
        raise malformed("the body holds no audio")
    proof_id = f"prf_{secrets.token_hex(12)}"
    identity = Identity(proof_id=proof_id, song=query.song, created_at=service.clock.second())
    if not query.legacy:
        try:
            audio = await asyncio.to_thread(service.one_file.seal, audio, identity, query.sealed_by)
        except NotSignable as error:
            raise Refusal(422, "unprocessable", str(error)) from error
    sidecar = service.sidecars.seal(hashlib.sha256(audio).hexdigest(), identity, query.sealed_by)
    service.secrets.add(base64.b64encode(sidecar).decode())
    if query.registered and query.sealed_by is not Signer.STRANGER:
        asset = None if query.legacy else f"{proof_id}.wav"
        if asset is not None:
            (service.folder("assets") / asset).write_bytes(audio)
        service.proofs.add(
            Proof(
                proof_id=proof_id,
                tenant=tenant,
                song=query.song,
                issued_at=identity.created_at,
                sealed_by=query.sealed_by,
                pending=query.pending,
                note=query.note,
                sidecar=sidecar,
                asset=asset,
            )
        )
    headers = {"x-proof-id": proof_id, "x-issued-at": str(identity.created_at)}
    return Response(sidecar if query.legacy else audio, headers=headers)


def known_tenant(service: Service, tenant: str | None) -> str:
    """Return the tenant, by default the first one; raise a 404 for an unknown tenant."""
    found = tenant or service.keys.first_tenant()
    if found is None or not service.keys.of_tenant(found):
        raise not_found("there is no such tenant")
    return found
