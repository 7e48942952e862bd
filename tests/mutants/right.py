"""Services that are right in unusual ways: no check may blame them."""

from dataclasses import replace
from itertools import count
from random import Random

from proofsweep_sandbox.answers import Answer
from proofsweep_sandbox.registry.proofs import Proof, Proofs
from proofsweep_sandbox.routing import Exchange, Serve
from proofsweep_sandbox.service import Service

from .broken_parts import BrokenPart, replacing
from .broken_seals import ignore_the_format
from .changes import change_query, change_status, set_members
from .definition import Mutant

_numbers = count()
_chance = Random(1)  # noqa: S311 - no secret


def _issuing(serve: Serve) -> Serve:
    """Issue a proof before each page."""

    async def show_all(service: Service, exchange: Exchange) -> Answer:
        newest = service.proofs.newest(exchange.caller.tenant, None, 1)
        if newest:
            now = max(service.clock.second(), newest[0].issued_at)
            new = f"prf_{next(_numbers):024x}"
            service.proofs.add(replace(newest[0], proof_id=new, issued_at=now, asset=None))
        return await serve(service, exchange)

    return show_all


class _ByOffset(BrokenPart, Proofs):
    """Orders proofs of one second anew for each list."""

    def newest(self, tenant: str, before: tuple[int, int] | None, limit: int) -> list[Proof]:
        """Return pages whose proofs of the same second are in any order within a page."""
        page = super().newest(tenant, before, limit)
        kept, last = page[:-1], page[-1:]
        _chance.shuffle(kept)
        return sorted(kept, key=lambda proof: -proof.issued_at) + last


def _smaller_pages(query: dict[str, str]) -> None:
    if query.get("limit", "").isdigit() and 2 <= int(query["limit"]) <= 100:
        query["limit"] = str(_chance.randint(1, int(query["limit"])))


RIGHT = {
    "a proof is issued between two pages": Mutant(on=("proofs",), wrap_serve=_issuing),
    "pages of proofs are shorter than their limit": Mutant(on=("proofs",), change_request=change_query(_smaller_pages)),
    "pages of keys are shorter than their limit": Mutant(on=("keys",), change_request=change_query(_smaller_pages)),
    "proofs of one second are in any order": Mutant(on=("proofs",), replace_part=replacing("proofs", _ByOffset)),
    "a malformed verification is 422": Mutant(on=("verify",), change_answer=change_status(400, 422)),
    "the samples alone are bound": Mutant(on=("verify",), replace_part=ignore_the_format),
    "an asset has a second link that is down": Mutant(
        on=("asset",), change_answer=set_members(mirror="http://127.0.0.1:9/other.wav")
    ),
}
