"""GET /partner/keys: the inventory and its pages."""

from math import ceil

from conformance.assertions import (
    expect,
    expect_quota_headers,
    expect_status,
    is_unique,
    objects_of,
    success_members,
    text_of,
)
from conformance.definition import check
from conformance.operations import KEYS
from conformance.replies import Reply
from conformance.subject import MADE_UP, Subject

_WALK_PAGES = 10
_LARGEST_PAGE = 100


@check(calls=1)
def resources_keys_record_fields(service: Subject) -> None:
    """A key's record tells `keyId`, `name` and `status`, all strings."""
    expect(service.keys, "the inventory is empty, and the calling key belongs into it", service.inventory)
    for record in service.keys:
        for name in ("keyId", "name", "status"):
            text_of(record, name, service.inventory)


@check(calls=1)
def resources_keys_list_no_secret(service: Subject) -> None:
    """Listing returns metadata only: the calling key's secret is nowhere in it."""
    success_members(service.inventory)
    expect(service.wire.key.encode() not in service.inventory.body, "the secret is in the listing", service.inventory)


@check(calls=1 + _WALK_PAGES)
def endpoints_2_full_inventory_without_paging(service: Subject) -> None:
    """Without `limit` and `cursor` the complete inventory is returned, in one piece."""
    members = success_members(service.inventory)
    expect(members.get("nextCursor") is None, "the full inventory has a nextCursor", service.inventory)
    left_out = set(_ids(_walk(service))) - set(service.key_ids)
    expect(not left_out, f"{len(left_out)} keys are on the pages and not in the full inventory", service.inventory)


@check(calls=1 + _WALK_PAGES)
def endpoints_2_cursor_goes_on(service: Subject) -> None:
    """`cursor` takes up where the response before it ended: page by page comes every key, once."""
    pages = _walk(service)
    ids = _ids(pages)
    expect(is_unique(ids), "a key is on two pages", *pages)
    expect(set(ids) == set(service.key_ids), "the pages together do not hold the inventory", *pages)


@check(calls=1 + _WALK_PAGES)
def resources_keys_next_cursor_only_while_more(service: Subject) -> None:
    """`nextCursor` is there only while more results exist."""
    pages = _walk(service)
    expect(_records(pages[-1]), "a nextCursor led to an empty page", *pages[-2:])


@check(calls=1)
def endpoints_2_limit_bounds_the_page(service: Subject) -> None:
    """`limit` activates bounded pagination: a page holds no more than that."""
    page = service.wire.ask(KEYS, query={"limit": "1"})
    count = len(_records(page))
    expect(count <= 1, f"{count} keys are on a page of 1", page)


@check(calls=2)
def limits_page_of_1_and_100_keys(service: Subject) -> None:
    """Pages of 1 and of 100 keys can be asked for."""
    for limit in ("1", "100"):
        success_members(service.wire.ask(KEYS, query={"limit": limit}))


@check(calls=4)
def limits_page_of_keys_out_of_bounds_is_400(service: Subject) -> None:
    """A page of keys of 0 or 101, or of what is no whole number, is a malformed request: 400."""
    expect_status(service.bad_limit, 400, "with limit=0")
    for limit in ("101", "-1", "many"):
        expect_status(service.wire.ask(KEYS, query={"limit": limit}), 400, f"with limit={limit}")


@check(calls=1)
def endpoints_2_made_up_cursor(service: Subject) -> None:
    """A cursor that no listing gave is answered with a page or 400: no other status of the list would fit."""
    reply = service.wire.ask(KEYS, query={"cursor": MADE_UP})
    expect(reply.status in {200, 400}, f"{KEYS} with a made-up cursor answered {reply.status}", reply)


@check(calls=1)
def endpoints_2_keys_tell_the_quota(service: Subject) -> None:
    """A listing of keys carries `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`."""
    success_members(service.inventory)
    expect_quota_headers(service.inventory)


def _walk(service: Subject) -> list[Reply]:
    limit = min(_LARGEST_PAGE, ceil(len(service.key_ids) / _WALK_PAGES))
    return service.pages(KEYS, max(1, limit))


def _records(page: Reply) -> list[str]:
    return [text_of(record, "keyId", page) for record in objects_of(success_members(page), "keys", page)]


def _ids(pages: list[Reply]) -> list[str]:
    return [key_id for page in pages for key_id in _records(page)]
