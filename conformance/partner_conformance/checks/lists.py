"""GET /partner/keys and GET /proofs: both lists and their pages (contract, Endpoints 2 and 5)."""

from collections.abc import Callable
from contextlib import suppress
from itertools import groupby

from partner_conformance.assertions import expect, is_unique, seconds_of, success_members
from partner_conformance.definition import Check, check, made_of
from partner_conformance.operations import KEYS, PROOFS, Operation
from partner_conformance.pages import Walk, ids_of, items_of
from partner_conformance.replies import NoAnswer, NotTried, Violation
from partner_conformance.subject import MADE_UP, SHARED_CALLS, Subject

# Sizes of pages, and how many of each are read. Chosen: small pages until more than 100 entries, so that a list that
# ends at 20, 50 or 100 is noticed.
_PAGES = {1: 3, 10: 12, 100: 20}
# Contract, Limits: the largest page.
_LARGEST_PAGE = 100
# Out of bounds, no whole number, zeros before 101, and forty digits.
_NO_LIMITS = ("0", "101", "-1", "many", "0000000101", "1.5", "5x", "9" * 40)
_ODD_CURSORS = (MADE_UP, "%zz='ä|{}")
_SECRET_NAMES = {"secret", "apikey", "api_key", "key", "value", "token"}

Rule = Callable[[Subject, Operation], None]


def _of_both_lists(calls: int) -> Callable[[Rule], tuple[Check, Check]]:
    """Make two checks of a rule, for keys and for proofs; a proof that is issued meanwhile is no finding."""

    def make(rule: Rule) -> tuple[Check, Check]:
        def of(operation: Operation, section: int, noun: str) -> Check:
            def run(service: Subject) -> None:
                try:
                    rule(service, operation)
                except Violation:
                    _require_no_new_proof(service, operation)
                    raise

            sentence = f"For {noun}: {(rule.__doc__ or '').splitlines()[0]}"
            return made_of(run, f"endpoints_{section}_{rule.__name__}", sentence, calls=calls)

        return of(KEYS, 2, "keys"), of(PROOFS, 5, "proofs")

    return make


@_of_both_lists(len(_NO_LIMITS))
def limit_out_of_bounds_is_400(service: Subject, operation: Operation) -> None:
    """A `limit` of 0, 101, -1, with a fraction, a letter or 40 digits is refused with 400."""
    for limit in _NO_LIMITS:
        service.expect_status(service.wire.ask(operation, query={"limit": limit}), 400, f"with limit={limit}")


@_of_both_lists(len(_ODD_CURSORS))
def odd_cursor_is_no_failure(service: Subject, operation: Operation) -> None:
    """An unknown `cursor`, also one with unusual characters, is answered with a page or with 400."""
    for cursor in _ODD_CURSORS:
        service.expect_status(service.wire.ask(operation, query={"cursor": cursor}), {200, 400}, "with an odd cursor")


@_of_both_lists(SHARED_CALLS["all proofs"] + 2 + sum(_PAGES.values()))
def pages_of_any_size_agree(service: Subject, operation: Operation) -> None:
    """Pages of 1, 10 and 100 have no more entries than that, and give the same list, each entry once."""
    for limit, most in _PAGES.items():
        walk = service.walk(operation, {"limit": str(limit)}, most)
        for page in walk.pages:
            count = len(ids_of(page))
            expect(count <= limit, f"{count} entries are on a page of {limit}", page)
        expect(is_unique(walk.ids), f"an entry is on two pages of {limit}", *walk.pages)
        if operation is KEYS:
            others = set(walk.ids) ^ set(service.key_ids)
            is_same = not set(walk.ids) - set(service.key_ids) and not (walk.is_ended and others)
        else:
            is_same = _are_alike(walk, service.all_proofs)
        expect(is_same, f"pages of {limit} give another list", *walk.pages)


@_of_both_lists(4)
def cursor_alone(service: Subject, operation: Operation) -> None:
    """`cursor` without `limit` gives the page that follows, of 100 at most."""
    first = service.walk(operation, {"limit": "1"}, 1)
    cursor = _cursor_of(first)
    bounded, alone = (service.walk(operation, query, 1) for query in ({"limit": "1", **cursor}, cursor))
    if not bounded.ids or not alone.ids:
        raise NotTried("the page after the cursor is empty")
    is_next = alone.ids[:1] == bounded.ids or _seconds(alone)[:1] == _seconds(bounded) != []
    is_next &= set(first.ids).isdisjoint(alone.ids)
    expect(is_next, "a cursor without limit leads elsewhere", *bounded.pages, *alone.pages)
    expect(len(alone.ids) <= _LARGEST_PAGE, f"a page after a cursor has {len(alone.ids)} entries", *alone.pages)


@_of_both_lists(4)
def cursor_again(service: Subject, operation: Operation) -> None:
    """A cursor that is used twice gives the same page: every GET is safe to repeat."""
    cursor = _cursor_of(service.walk(operation, {"limit": "1"}, 1))
    once, again = (service.walk(operation, {"limit": "1", **cursor}, 1) for _ in range(2))
    expect(once.ids == again.ids, "the same cursor gives another page", *once.pages, *again.pages)


@check(calls=1)
def resources_keys_list_no_secret(service: Subject) -> None:
    """The list of keys does not contain the secret of any key."""
    success_members(service.inventory)
    key, inventory = service.wire.key, service.inventory
    expect(key.encode() not in inventory.body, "the secret is in the list", inventory)
    values = {str(v) for record in service.keys for name, v in record.items() if name.lower() in _SECRET_NAMES}
    expect(not any(_is_like(value, key) for value in values), "a key's secret is listed", inventory)


@check(calls=1 + _PAGES[100])
def endpoints_2_full_inventory_without_paging(service: Subject) -> None:
    """Without `limit` and `cursor` the response has all keys and no next page."""
    members = success_members(service.inventory)
    expect(service.keys, "the list is empty: it lacks the calling key", service.inventory)
    expect(members.get("nextCursor") is None, "the full list has a nextCursor", service.inventory)
    left_out = set(service.walk(KEYS, {"limit": "100"}, _PAGES[100]).ids) - set(service.key_ids)
    expect(not left_out, f"{len(left_out)} keys are on the pages and not in the full list", service.inventory)


@check(calls=1 + _PAGES[10])
def resources_keys_next_cursor_only_while_more(service: Subject) -> None:
    """`nextCursor` is present only if there are more results."""
    count = len(service.key_ids)
    limits = (limit for limit in (count, count // 2, count // 3) if 0 < limit <= _LARGEST_PAGE and count % limit == 0)
    walk = service.walk(KEYS, {"limit": str(next(limits, 10))}, _PAGES[10])
    expect(ids_of(walk.pages[-1]), "a nextCursor led to an empty page", *walk.pages[-2:])


@check(calls=3, shares="all proofs")
def endpoints_5_newest_first_on_all_pages(service: Subject) -> None:
    """Proofs are listed newest first, also from page to page."""
    for walk in (service.walk(PROOFS, {"limit": "1"}, 3), service.all_proofs):
        times = _seconds(walk)
        expect(times == sorted(times, reverse=True), "an older proof is before a newer one", *walk.pages)


@check(shares="all proofs")
def resources_proofs_next_cursor_absent_at_the_end(service: Subject) -> None:
    """The last page has no `nextCursor`."""
    walk = service.all_proofs
    repeats = [tuple(ids_of(page)) for page in walk.pages if ids_of(page)]
    expect(is_unique(repeats), "the pages do not end: one of them repeats", *walk.pages)
    if not walk.is_ended:
        raise NotTried(f"the list has more than {len(walk.pages)} pages")


@check(calls=3, shares="all proofs")
def endpoints_5_limit_is_optional(service: Subject) -> None:
    """Without `limit` and `cursor` the newest proofs are listed."""
    page = service.walk(PROOFS, {}, 1)
    is_begun = bool(page.ids) or not page.is_ended or not service.items
    if not (is_begun and _are_alike(page, service.all_proofs)):
        _require_no_new_proof(service, PROOFS)
        raise Violation("without limit other proofs are listed", page.pages)


@check(shares="all proofs", needs=("pending_proof",))
def endpoints_5_pending_proofs_are_not_listed(service: Subject) -> None:
    """A pending proof is not in the list."""
    expect(service.inputs.pending_proof not in service.all_proofs.ids, "a pending proof is listed")


def _seconds(walk: Walk) -> list[int]:
    """Return the times of all proofs of a walk; none of a walk through keys."""
    pages = [page for page in walk.pages if page.operation is PROOFS]
    return [seconds_of(item, "issuedAt", page) for page in pages for item in items_of(page)]


def _are_alike(walk: Walk, other: Walk) -> bool:
    """Return whether the shorter walk begins the longer one; proofs of one second may be in any order."""
    shorter, longer = sorted((walk, other), key=lambda each: len(each.ids))
    if shorter.is_ended and len(shorter.ids) < len(longer.ids):
        return False
    groups = [
        [
            {each for each, _ in group}
            for _, group in groupby(zip(each.ids, _seconds(each), strict=True), lambda at: at[1])
        ]
        for each in (shorter, longer)
    ]
    whole = len(groups[0]) - 1
    return groups[0][:whole] == groups[1][:whole] and (not groups[0] or groups[0][-1] <= groups[1][whole])


def _is_like(value: str, key: str) -> bool:
    """Return whether a value has the length of a key, and its first letters; a masked or shortened one has not."""
    return len(value) == len(key) and value[:3] == key[:3] and value.isascii() and "*" not in value


def _cursor_of(walk: Walk) -> dict[str, str]:
    if walk.cursor is None:
        raise NotTried("the list has one page only")
    return {"cursor": walk.cursor}


def _require_no_new_proof(service: Subject, operation: Operation) -> None:
    """Raise NotTried if the newest proof is another one than before."""
    with suppress(Violation, NoAnswer):
        newest = service.walk(PROOFS, {"limit": "1"}, 1).ids if operation is PROOFS else []
        if newest and newest != service.all_proofs.ids[:1] and newest[0] not in service.all_proofs.ids:
            raise NotTried("a proof was issued during the check")
