"""GET /proofs: the list of proofs and its pages."""

from partner_conformance.assertions import (
    expect,
    flag_of,
    is_unique,
    seconds_of,
    success_members,
    text_of,
)
from partner_conformance.definition import check
from partner_conformance.operations import PROOFS
from partner_conformance.pages import ids_of
from partner_conformance.replies import NotTried
from partner_conformance.subject import MADE_UP, Subject


@check(calls=1)
def resources_proofs_item_fields(service: Subject) -> None:
    """A listed proof has `proofId`, `song` and `hasFeedback`; an optional `classification` is a string."""
    for item in _some_items(service):
        text_of(item, "proofId", service.listing)
        expect(isinstance(item.get("song"), str), "song of a listed proof is not a string", service.listing)
        flag_of(item, "hasFeedback", service.listing)
        if "classification" in item:
            text_of(item, "classification", service.listing)


@check(calls=1)
def resources_proofs_issued_at_in_seconds(service: Subject) -> None:
    """`issuedAt` of a listed proof is unix time in whole seconds."""
    for item in _some_items(service):
        seconds_of(item, "issuedAt", service.listing)


@check(calls=1)
def endpoints_5_newest_first(service: Subject) -> None:
    """Proofs are listed newest first."""
    times = [seconds_of(item, "issuedAt", service.listing) for item in _some_items(service, 2)]
    expect(times == sorted(times, reverse=True), "an older proof is before a newer one", service.listing)


@check(calls=3)
def endpoints_5_cursor_goes_on(service: Subject) -> None:
    """`nextCursor` passed as `cursor` gives the next page: pages of one match a larger page."""
    whole = [text_of(item, "proofId", service.listing) for item in _some_items(service, 2)]
    first = service.wire.ask(PROOFS, query={"limit": "1"})
    cursor = text_of(success_members(first), "nextCursor", first)
    second = service.wire.ask(PROOFS, query={"limit": "1", "cursor": cursor})
    if ids_of(first) != whole[:1]:
        raise NotTried("a proof was issued during the check")
    goes_on = ids_of(second) == whole[1:2]
    expect(goes_on, "the second page does not continue the first", first, second, service.listing)


@check(shares="all proofs")
def resources_proofs_next_cursor_absent_at_the_end(service: Subject) -> None:
    """The last page has no `nextCursor`."""
    walk = service.all_proofs
    repeats = [tuple(ids_of(page)) for page in walk.pages if ids_of(page)]
    expect(is_unique(repeats), "the pages do not end: one of them repeats", *walk.pages)
    if not walk.is_ended:
        raise NotTried(f"the list has more than {len(walk.pages)} pages")


@check(calls=1)
def endpoints_5_limit_bounds_the_page(service: Subject) -> None:
    """A page has at most `limit` proofs."""
    page = service.wire.ask(PROOFS, query={"limit": "1"})
    expect(len(ids_of(page)) <= 1, f"{len(ids_of(page))} proofs are on a page of 1", page)


@check(calls=2)
def limits_page_of_1_and_100_proofs(service: Subject) -> None:
    """A `limit` of 1 and of 100 proofs is accepted."""
    for limit in ("1", "100"):
        success_members(service.wire.ask(PROOFS, query={"limit": limit}))


@check(calls=4)
def limits_page_of_proofs_out_of_bounds_is_400(service: Subject) -> None:
    """For proofs, a `limit` of 0, 101, -1 or a word is refused with 400."""
    for limit in ("0", "101", "-1", "many"):
        service.expect_status(service.wire.ask(PROOFS, query={"limit": limit}), 400, f"with limit={limit}")


@check(calls=1)
def endpoints_5_made_up_cursor(service: Subject) -> None:
    """For proofs, an unknown `cursor` is answered with a page or with 400."""
    reply = service.wire.ask(PROOFS, query={"cursor": MADE_UP})
    service.expect_status(reply, {200, 400}, "with a made-up cursor")


def _some_items(service: Subject, least: int = 1) -> list[dict[str, object]]:
    items = [dict(item) for item in service.items]
    if len(items) < least:
        raise NotTried(f"this key has fewer than {least} proofs")
    return items
