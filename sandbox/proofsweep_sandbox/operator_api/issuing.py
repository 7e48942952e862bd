"""Issuing: seal the audio, register the proof, and return the sealed file."""

import asyncio
import base64
import hashlib
import secrets
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from proofsweep_sandbox.answers import Refusal, malformed
from proofsweep_sandbox.grading import classification_of
from proofsweep_sandbox.operator_api.controls import known_tenant
from proofsweep_sandbox.registry.proofs import Proof
from proofsweep_sandbox.seals.identity import Identity, Signer
from proofsweep_sandbox.seals.wave import NotSignable
from proofsweep_sandbox.service import Service
from proofsweep_sandbox.storage.atomic_file import AtomicFile


class IssueQuery(BaseModel):
    """The options of a new proof, by default of the first tenant.

    An empty classification makes an older proof without one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    song: str = "Untitled"
    tenant: str | None = None
    legacy: bool = False
    sealed_by: Signer = Signer.SERVICE
    registered: bool = True
    pending: bool = False
    classification: str | None = None
    has_feedback: bool = False
    note: Literal["ready", "unavailable"] = "ready"

    @property
    def is_registered(self) -> bool:
        """Whether to register the proof; a stranger's proof is never registered."""
        return self.registered and self.sealed_by is not Signer.STRANGER


async def issue(service: Service, request: Request) -> Response:
    """Seal the audio in the body; return the credentialed WAV, or the sidecar of a legacy pair."""
    query = IssueQuery.model_validate(dict(request.query_params))
    known_tenant(service, query.tenant)  # checked before any audio is read
    proof_id = f"prf_{secrets.token_hex(12)}"
    identity = Identity(proof_id=proof_id, song=query.song, created_at=service.clock.second())
    headers = {"x-proof-id": proof_id, "x-issued-at": str(identity.created_at)}
    source = service.folder("assets") / f"{proof_id}.source"
    try:
        sha256 = await _received(request, source)
        if query.legacy:
            sidecar = _sidecar(service, sha256, identity, query.sealed_by)
            _register(service, query, identity, sidecar, None)
            return Response(sidecar, headers=headers, media_type="application/json")
        asset = service.folder("assets") / f"{proof_id}.wav"
        sha256 = await asyncio.to_thread(_credentialed, service, source, asset, identity, query.sealed_by)
    finally:
        source.unlink(missing_ok=True)
    _register(service, query, identity, _sidecar(service, sha256, identity, query.sealed_by), asset.name)
    # Nothing remains here of an unregistered proof: the answer is its only copy.
    after = None if query.is_registered else BackgroundTask(_forget, asset)
    return FileResponse(asset, headers=headers, media_type="audio/wav", background=after)


async def _forget(asset: Path) -> None:
    asset.unlink()  # noqa: ASYNC240 - before the next request on this connection


async def _received(request: Request, source: Path) -> str:
    """Write the body to a file; return its digest."""
    file = AtomicFile(source)
    try:
        async for chunk in request.stream():
            file.write(chunk)
        if file.size_bytes == 0:
            raise malformed("the body holds no audio")
        file.commit()
    finally:
        file.discard()
    return file.sha256


def _credentialed(service: Service, source: Path, asset: Path, identity: Identity, signer: Signer) -> str:
    """Write the credentialed copy of a WAV; return its digest."""
    try:
        service.one_file.seal(source, asset, identity, signer)
    except NotSignable as error:
        raise Refusal(422, "unprocessable", str(error)) from error
    with asset.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sidecar(service: Service, audio_sha256: str, identity: Identity, signer: Signer) -> bytes:
    """Seal the proof document; that of a one-file proof is bound to the credentialed copy."""
    sidecar = service.sidecars.seal(audio_sha256, identity, signer)
    service.secrets.add("sidecar", base64.b64encode(sidecar).decode())
    return sidecar


def _register(service: Service, query: IssueQuery, identity: Identity, sidecar: bytes, asset: str | None) -> None:
    if not query.is_registered:
        return
    classification = classification_of(identity.proof_id) if query.classification is None else query.classification
    proof = Proof(
        proof_id=identity.proof_id,
        tenant=known_tenant(service, query.tenant),
        song=identity.song,
        issued_at=identity.created_at,
        sealed_by=query.sealed_by,
        classification=classification or None,
        has_feedback=query.has_feedback,
        pending=query.pending,
        note=query.note,
        sidecar=sidecar,
        asset=asset,
    )
    service.proofs.add(proof)
