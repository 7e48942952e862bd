"""Issued proofs: list, fetch, erase, download and interpret, within the caller's tenant."""

import base64

from proofsweep_sandbox.answers import Answer, json_answer, not_found
from proofsweep_sandbox.registry.proofs import Proof
from proofsweep_sandbox.routing import Exchange
from proofsweep_sandbox.service import Service
from proofsweep_sandbox.storage import link_to
from proofsweep_sandbox.verdicts import classification_of, grade_of, interpretation_of


async def show_all(service: Service, exchange: Exchange) -> Answer:
    """List one page of the tenant's issued proofs, newest first."""
    tenant, limit = exchange.caller.tenant, exchange.whole_number("limit", highest=100, default=50)
    listing = f"proofs of {tenant}"
    position = service.signatures.position(listing, exchange.request.query_params.get("cursor"))
    page = service.proofs.newest(tenant, (position[0], position[1]) if position else None, limit + 1)
    answer: dict[str, object] = {"items": [_item(proof) for proof in page[:limit]]}
    if len(page) > limit:
        last = page[limit - 1]
        answer["nextCursor"] = service.signatures.cursor(listing, [last.issued_at, last.seq])
    return json_answer(answer)


async def show(service: Service, exchange: Exchange) -> Answer:
    """Return a proof's record and its sidecar, with exactly the issued bytes."""
    proof = _issued(service, exchange)
    sidecar = base64.b64encode(proof.sidecar).decode()
    return json_answer({**_item(proof), "grade": grade_of(proof), service.options.sidecar_field: sidecar})


async def erase(service: Service, exchange: Exchange) -> Answer:
    """Erase a proof of the caller's tenant; any other proof is answered as already erased."""
    proof_id, tenant = exchange.path["proof_id"], exchange.caller.tenant
    proof = service.proofs.owned(tenant, proof_id)
    if proof is not None:
        return json_answer({"proofId": proof_id, "outcome": "erased", "erasedAt": service.erase(proof)})
    erased_at = service.proofs.erased_at(proof_id, tenant) or service.clock.second()
    return json_answer({"proofId": proof_id, "outcome": "already_erased", "erasedAt": erased_at})


async def show_asset(service: Service, exchange: Exchange) -> Answer:
    """Return a short-lived link to the one-file artifact; a legacy proof has none."""
    proof = _issued(service, exchange)
    if proof.asset is None:
        raise not_found("this proof has no one-file artifact")
    url, expires_at = link_to(service, exchange.request, proof.asset)
    return json_answer({"url": url, "expiresAt": expires_at})


async def show_interpretation(service: Service, exchange: Exchange) -> Answer:
    """Return the process note in its present state; the note of a pending proof is pending."""
    proof = service.proofs.owned(exchange.caller.tenant, exchange.path["proof_id"])
    if proof is None:
        raise not_found("there is no such proof")
    return json_answer(interpretation_of(proof, service.clock.now()))


def _issued(service: Service, exchange: Exchange) -> Proof:
    """Return the caller's proof; raise a 404 for a pending one and for another tenant's."""
    proof = service.proofs.owned(exchange.caller.tenant, exchange.path["proof_id"])
    if proof is None or proof.pending:
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
