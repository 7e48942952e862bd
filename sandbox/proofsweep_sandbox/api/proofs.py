"""Issued proofs: list, fetch, erase, download and interpret, within the caller's tenant."""

import base64

from proofsweep_sandbox.answers import Answer, json_answer, not_found
from proofsweep_sandbox.registry.proofs import Proof
from proofsweep_sandbox.routing import Endpoint, Exchange
from proofsweep_sandbox.service import Service
from proofsweep_sandbox.storage import link_to
from proofsweep_sandbox.verdicts import classification_of, grade_of, interpretation_of


async def show_all(service: Service, exchange: Exchange) -> Answer:
    """List one page of the tenant's issued proofs, newest first."""
    tenant = exchange.caller.tenant
    limit = exchange.whole_number("limit", highest=100, default=50)
    listing = f"proofs of {tenant}"
    cursor = exchange.request.query_params.get("cursor")
    position = service.signatures.position(listing, cursor)
    before = None
    if position is not None:
        issued_at, seq = position
        before = (issued_at, seq)
    # One more than the page has: it tells whether there is a next page.
    proofs = service.proofs.newest(tenant, before, limit + 1)
    page = proofs[:limit]
    answer: dict[str, object] = {"items": [_item(proof) for proof in page]}
    if len(proofs) > limit:
        last = page[-1]
        answer["nextCursor"] = service.signatures.cursor(listing, [last.issued_at, last.seq])
    return json_answer(answer)


async def show(service: Service, exchange: Exchange) -> Answer:
    """Return a proof's record and its sidecar, with exactly the issued bytes."""
    proof = _issued(service, exchange)
    members = _item(proof)
    members["grade"] = grade_of(proof)
    encoded = base64.b64encode(proof.sidecar)
    members[service.options.sidecar_field] = encoded.decode()
    return json_answer(members)


async def erase(service: Service, exchange: Exchange) -> Answer:
    """Erase a proof of the caller's tenant; any other proof is answered as already erased."""
    proof_id = exchange.path["proof_id"]
    tenant = exchange.caller.tenant
    proof = service.proofs.owned(tenant, proof_id)
    if proof is not None:
        outcome = "erased"
        erased_at = service.erase(proof)
    else:
        # Whether another tenant has such a proof is not said.
        outcome = "already_erased"
        erased_at = service.proofs.erased_at(proof_id, tenant) or service.clock.second()
    return json_answer({"proofId": proof_id, "outcome": outcome, "erasedAt": erased_at})


async def show_asset(service: Service, exchange: Exchange) -> Answer:
    """Return a short-lived link to the one-file artifact; a legacy proof has none."""
    proof = _issued(service, exchange)
    if proof.asset is None:
        raise not_found("this proof has no one-file artifact")
    url, expires_at = link_to(service, exchange.request, proof.asset)
    return json_answer({"url": url, "expiresAt": expires_at})


async def show_interpretation(service: Service, exchange: Exchange) -> Answer:
    """Return the process note in its present state; the note of a pending proof is pending."""
    proof = _owned(service, exchange)
    return json_answer(interpretation_of(proof, service.clock.now()))


def _issued(service: Service, exchange: Exchange) -> Proof:
    proof = _owned(service, exchange)
    if proof.pending:
        raise not_found("there is no such proof")
    return proof


def _owned(service: Service, exchange: Exchange) -> Proof:
    proof_id = exchange.path["proof_id"]
    proof = service.proofs.owned(exchange.caller.tenant, proof_id)
    if proof is None:
        raise not_found("there is no such proof")
    return proof


def _item(proof: Proof) -> dict[str, object]:
    return {
        "proofId": proof.proof_id,
        "song": proof.song,
        "issuedAt": proof.issued_at,
        "classification": classification_of(proof),
        "hasFeedback": False,
    }


ENDPOINTS = (
    Endpoint("proofs", "GET", "/v1/proofs", show_all),
    Endpoint("proof", "GET", "/v1/proofs/{proof_id}", show),
    Endpoint("erase", "DELETE", "/v1/proofs/{proof_id}", erase),
    Endpoint("asset", "GET", "/v1/proofs/{proof_id}/asset", show_asset),
    Endpoint("interpretation", "GET", "/v1/proofs/{proof_id}/interpretation", show_interpretation),
)
