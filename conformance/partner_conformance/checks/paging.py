"""Pages of both lists: every size, a cursor alone, a cursor again (contract, Endpoints 2 and 5)."""

from partner_conformance.assertions import expect, is_unique, seconds_of
from partner_conformance.definition import check
from partner_conformance.operations import KEYS, PROOFS, Operation
from partner_conformance.pages import Walk, ids_of, items_of
from partner_conformance.replies import NotTried
from partner_conformance.subject import Subject

# Chosen: small pages until more than 100 entries, so that a list that ends at 20, 50 or 100 is noticed.
_SMALL_PAGE, _SMALL_PAGES = 10, 12
_LARGE_PAGES = 20
# Contract, Limits: the largest page.
_LARGEST_PAGE = 100


@check(calls=1 + _SMALL_PAGES + _LARGE_PAGES)
def endpoints_2_pages_of_any_size_agree(service: Subject) -> None:
    """Pages of 10 and of 100 keys give the keys of the full list, each once."""
    for limit, most in ((_SMALL_PAGE, _SMALL_PAGES), (100, _LARGE_PAGES)):
        walk = service.walk(KEYS, {"limit": str(limit)}, most)
        _expect_pages(walk, limit)
        count = len(set(walk.ids) - set(service.key_ids))
        expect(not count, f"{count} keys are on the pages and not in the full list", *walk.pages)
        is_whole = not walk.is_ended or len(walk.ids) == len(service.key_ids)
        expect(is_whole, f"pages of {limit} end after {len(walk.ids)} of {len(service.key_ids)} keys", *walk.pages)


@check(calls=_SMALL_PAGES + 1, shares="all proofs")
def endpoints_5_pages_of_any_size_agree(service: Subject) -> None:
    """Pages of 10 and of 100 proofs give the same list, each proof once."""
    small, large = service.walk(PROOFS, {"limit": str(_SMALL_PAGE)}, _SMALL_PAGES), service.all_proofs
    _expect_pages(small, _SMALL_PAGE)
    _expect_pages(large, 100)
    shorter, longer = sorted((small, large), key=lambda walk: len(walk.ids))
    _require_no_new_proof(service)
    expect(shorter.ids == longer.ids[: len(shorter.ids)], "pages of 10 and of 100 proofs differ", *small.pages)
    is_cut = shorter.is_ended and len(shorter.ids) < len(longer.ids)
    expect(not is_cut, f"one size of pages ends after {len(shorter.ids)} proofs, another goes on", *shorter.pages)


@check(calls=3, shares="all proofs")
def endpoints_5_newest_first_on_all_pages(service: Subject) -> None:
    """Proofs are listed newest first also from page to page."""
    pages = service.walk(PROOFS, {"limit": "1"}, 3).pages + service.all_proofs.pages
    for group in (pages[:3], service.all_proofs.pages):
        times = [seconds_of(item, "issuedAt", page) for page in group for item in items_of(page)]
        expect(times == sorted(times, reverse=True), "an older proof is before a newer one", *group)


@check(calls=3)
def endpoints_2_cursor_alone(service: Subject) -> None:
    """For keys, `cursor` without `limit` gives the page that follows, of 100 at most."""
    _expect_cursor_alone(service, KEYS)


@check(calls=3)
def endpoints_5_cursor_alone(service: Subject) -> None:
    """For proofs, `cursor` without `limit` gives the page that follows, of 100 at most."""
    _expect_cursor_alone(service, PROOFS)


@check(calls=3)
def endpoints_2_cursor_again(service: Subject) -> None:
    """A cursor for keys that is used twice gives the same page: every GET is safe to repeat."""
    _expect_cursor_again(service, KEYS)


@check(calls=3)
def endpoints_5_cursor_again(service: Subject) -> None:
    """A cursor for proofs that is used twice gives the same page: every GET is safe to repeat."""
    _expect_cursor_again(service, PROOFS)


@check(calls=3, shares="all proofs")
def endpoints_5_limit_is_optional(service: Subject) -> None:
    """Without `limit` and `cursor` the newest proofs are listed."""
    page = service.walk(PROOFS, {}, 1)
    expected = service.all_proofs.ids[: len(page.ids)]
    _require_no_new_proof(service)
    is_begun = bool(page.ids) or not page.is_ended or not service.items
    expect(is_begun and page.ids == expected, "without limit other proofs are listed", *page.pages)


@check(shares="all proofs", needs=("pending_proof",))
def endpoints_5_pending_proofs_are_not_listed(service: Subject) -> None:
    """A pending proof is not in the list."""
    expect(service.inputs.pending_proof not in service.all_proofs.ids, "a pending proof is listed")


def _expect_pages(walk: Walk, limit: int) -> None:
    for page in walk.pages:
        count = len(ids_of(page))
        expect(count <= limit, f"{count} entries are on a page of {limit}", page)
    expect(is_unique(walk.ids), f"an entry is on two pages of {limit}", *walk.pages)


def _expect_cursor_alone(service: Subject, operation: Operation) -> None:
    cursor = _cursor_of(service.walk(operation, {"limit": "1"}, 1))
    bounded, alone = (service.walk(operation, query, 1) for query in ({"limit": "1", **cursor}, cursor))
    if not bounded.ids:
        raise NotTried("the page after the cursor is empty")
    expect(alone.ids[:1] == bounded.ids, "a cursor without limit leads elsewhere", *bounded.pages, *alone.pages)
    expect(len(alone.ids) <= _LARGEST_PAGE, f"a page after a cursor has {len(alone.ids)} entries", *alone.pages)


def _expect_cursor_again(service: Subject, operation: Operation) -> None:
    cursor = _cursor_of(service.walk(operation, {"limit": "1"}, 1))
    once, again = (service.walk(operation, {"limit": "1", **cursor}, 1) for _ in range(2))
    expect(once.ids == again.ids, "the same cursor gives another page", *once.pages, *again.pages)


def _cursor_of(walk: Walk) -> dict[str, str]:
    if walk.cursor is None:
        raise NotTried("the list has one page only")
    return {"cursor": walk.cursor}


def _require_no_new_proof(service: Subject) -> None:
    newest = service.walk(PROOFS, {"limit": "1"}, 1).ids
    if newest and newest != service.all_proofs.ids[:1]:
        raise NotTried("a proof was issued or erased during the check")
