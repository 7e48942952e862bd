"""GET /proofs: the listing and its pages."""

from conformance.assertions import (
    expect,
    expect_status,
    flag_of,
    is_unique,
    objects_of,
    seconds_of,
    success_members,
    text_of,
)
from conformance.definition import check
from conformance.operations import PROOFS
from conformance.replies import NotTried, Reply
from conformance.subject import MADE_UP, Subject


@check(calls=1)
def resources_proofs_item_fields(service: Subject) -> None:
    """A listed proof tells `proofId`, `song` and `hasFeedback`, and `classification` where it has one."""
    for item in _some_items(service):
        text_of(item, "proofId", service.listing)
        expect(isinstance(item.get("song"), str), "song of a listed proof is no string", service.listing)
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
    expect(times == sorted(times, reverse=True), "an older proof stands before a newer one", service.listing)


@check(calls=3)
def endpoints_5_cursor_goes_on(service: Subject) -> None:
    """`nextCursor` passed back as `cursor` gives the next page: pages of one hold what a larger one holds."""
    whole = [text_of(item, "proofId", service.listing) for item in _some_items(service, 2)]
    first = service.wire.ask(PROOFS, query={"limit": "1"})
    cursor = text_of(success_members(first), "nextCursor", first)
    second = service.wire.ask(PROOFS, query={"limit": "1", "cursor": cursor})
    if _ids(first) != whole[:1]:
        raise NotTried("a proof was issued meanwhile")
    goes_on = _ids(second) == whole[1:2]
    expect(goes_on, "the second page does not go on where the first ended", first, second, service.listing)


@check(calls=20)
def resources_proofs_next_cursor_absent_at_the_end(service: Subject) -> None:
    """Every page but the last has a `nextCursor`; on the last it is absent."""
    pages = service.pages(PROOFS, 100)
    expect(is_unique(tuple(_ids(page)) for page in pages if _ids(page)), "the pages do not end: one came again", *pages)


@check(calls=1)
def endpoints_5_limit_bounds_the_page(service: Subject) -> None:
    """A page holds no more proofs than `limit` says."""
    page = service.wire.ask(PROOFS, query={"limit": "1"})
    expect(len(_ids(page)) <= 1, f"{len(_ids(page))} proofs are on a page of 1", page)


@check(calls=2)
def limits_page_of_1_and_100_proofs(service: Subject) -> None:
    """Pages of 1 and of 100 proofs can be asked for."""
    for limit in ("1", "100"):
        success_members(service.wire.ask(PROOFS, query={"limit": limit}))


@check(calls=4)
def limits_page_of_proofs_out_of_bounds_is_400(service: Subject) -> None:
    """A page of proofs of 0 or 101, or of what is no whole number, is a malformed request: 400."""
    for limit in ("0", "101", "-1", "many"):
        expect_status(service.wire.ask(PROOFS, query={"limit": limit}), 400, f"with limit={limit}")


@check(calls=1)
def endpoints_5_made_up_cursor(service: Subject) -> None:
    """A cursor that no listing gave is answered with a page or 400: no other status of the list would fit."""
    reply = service.wire.ask(PROOFS, query={"cursor": MADE_UP})
    expect(reply.status in {200, 400}, f"{PROOFS} with a made-up cursor answered {reply.status}", reply)


def _some_items(service: Subject, least: int = 1) -> list[dict[str, object]]:
    items = [dict(item) for item in service.items]
    if len(items) < least:
        raise NotTried(f"fewer proofs than {least} are held under this key")
    return items


def _ids(page: Reply) -> list[str]:
    return [text_of(item, "proofId", page) for item in objects_of(success_members(page), "items", page)]
