"""All proofs are listed once, however the service pages; nothing lasts for ever."""

from itertools import count

import pytest

from proofsweep.errors import CallFailed
from proofsweep.model.exchanges import Call
from proofsweep.operations import reconcile
from proofsweep.operations.reconcile import ProofListing
from proofsweep.partner.partner import Partner

from ..scripted_service import Scripted, ScriptedService


def page(*proof_ids: str | None, cursor: str | None = None) -> Scripted:
    """Make a page."""
    document: dict[str, object] = {"items": [{"proofId": each, "song": "s"} for each in proof_ids]}
    return Scripted(document=document if cursor is None else document | {"nextCursor": cursor})


def ids_of(listing: ProofListing) -> list[str | None]:
    """Read a whole listing."""
    return [proof.proof_id for proofs in listing.pages() for proof in proofs]


def test_a_list_that_shifts_gives_each_proof_once(partner: Partner, service: ScriptedService) -> None:
    """New proofs come first, so what was read comes again; a page may be short or empty before the last."""
    service.script[Call.PROOFS] = [page("c", "b", cursor="1"), page(cursor="2"), page("b", "a", cursor="3"), page()]

    listing = ProofListing(partner)

    assert (ids_of(listing), listing.problem) == (["c", "b", "a"], None)


@pytest.mark.parametrize(
    ("pages", "problem"),
    [
        ([page("a", cursor="1"), page("b", cursor="1")], "the service gave the same cursor twice"),
        ([page("a", cursor="1"), page("b", cursor="2"), page("c", cursor="1")], "the same cursor twice"),
        ([page("a", cursor="1"), Scripted(status=400)], "refused its own cursor (400)"),
    ],
)
def test_a_cursor_that_leads_nowhere_ends_the_listing(
    partner: Partner, service: ScriptedService, pages: list[Scripted], problem: str
) -> None:
    """What was read stays, and is said to be in doubt."""
    service.script[Call.PROOFS] = [*pages]
    listing = ProofListing(partner)

    found = ids_of(listing)

    assert found == ["a", "b", "c"][: len(found)]
    assert listing.problem is not None
    assert problem in listing.problem


def test_new_cursors_without_new_proofs_end_too(partner: Partner, service: ScriptedService) -> None:
    """A service may go in circles under other names."""
    numbers = count()

    def turn(_call: Call) -> None:
        service.usual[Call.PROOFS] = page("a", cursor=str(next(numbers)))

    service.on_call = turn
    listing = ProofListing(partner)

    assert (ids_of(listing), listing.problem) == (["a"], "no page was new")
    assert len(service.calls) == 21


def test_the_pages_are_bounded(partner: Partner, service: ScriptedService, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if each brings something new."""
    monkeypatch.setattr(reconcile, "_MOST_PAGES", 3)
    service.script[Call.PROOFS] = [page(str(number), cursor=str(number)) for number in range(4)]
    listing = ProofListing(partner)

    assert (ids_of(listing), listing.problem) == (["0", "1", "2"], "there are more than 3 pages")


def test_items_without_an_id_are_counted(partner: Partner, service: ScriptedService) -> None:
    """They cannot be told apart."""
    service.script[Call.PROOFS] = [page(None, "", "a")]
    listing = ProofListing(partner)

    assert (ids_of(listing), listing.unnamed) == (["a"], 2)


def test_a_first_page_that_is_refused_is_an_error(partner: Partner, service: ScriptedService) -> None:
    """There was no cursor that could be to blame."""
    service.script[Call.PROOFS] = [Scripted(status=400)]

    with pytest.raises(CallFailed):
        ids_of(ProofListing(partner))
