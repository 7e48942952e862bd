"""GET /partner/keys: the list of keys and its pages."""

from math import ceil

from partner_conformance.assertions import (
    expect,
    expect_quota_headers,
    is_unique,
    success_members,
    text_of,
)
from partner_conformance.definition import check
from partner_conformance.operations import KEYS
from partner_conformance.pages import Walk, ids_of
from partner_conformance.replies import NotTried
from partner_conformance.subject import MADE_UP, Subject

# Chosen: pages for a full list of up to 1,000 keys; each check that reads them makes at most so many calls.
_WALK_PAGES = 10
# Contract, Limits: the largest page.
_LARGEST_PAGE = 100
_SECRET_NAMES = {"secret", "apikey", "api_key", "key", "value", "token"}


@check(calls=1)
def resources_keys_record_fields(service: Subject) -> None:
    """A key's record has `keyId`, `name` and `status`, all strings."""
    expect(service.keys, "the list is empty: it lacks the calling key", service.inventory)
    for record in service.keys:
        for name in ("keyId", "name", "status"):
            text_of(record, name, service.inventory)


@check(calls=1)
def resources_keys_list_no_secret(service: Subject) -> None:
    """The list of keys does not contain the secret of any key."""
    success_members(service.inventory)
    expect(service.wire.key.encode() not in service.inventory.body, "the secret is in the list", service.inventory)
    for record in service.keys:
        named = {str(value) for name, value in record.items() if name.lower() in _SECRET_NAMES}
        expect(
            not any(_is_like(value, service.wire.key) for value in named), "a key's secret is listed", service.inventory
        )


@check(calls=1 + 2 * _WALK_PAGES)
def endpoints_2_full_inventory_without_paging(service: Subject) -> None:
    """Without `limit` and `cursor` the response has all keys and no next page."""
    members = success_members(service.inventory)
    expect(members.get("nextCursor") is None, "the full list has a nextCursor", service.inventory)
    left_out = set(_walk(service).ids) - set(service.key_ids)
    expect(not left_out, f"{len(left_out)} keys are on the pages and not in the full list", service.inventory)


@check(calls=1 + 2 * _WALK_PAGES)
def endpoints_2_cursor_goes_on(service: Subject) -> None:
    """`cursor` continues the previous page: the pages together have every key, once."""
    walk = _walk(service)
    expect(is_unique(walk.ids), "a key is on two pages", *walk.pages)
    expect(set(walk.ids) == set(service.key_ids), "the pages together do not have the full list", *walk.pages)


@check(calls=1 + 2 * _WALK_PAGES)
def resources_keys_next_cursor_only_while_more(service: Subject) -> None:
    """`nextCursor` is present only if there are more results."""
    pages = _walk(service).pages
    expect(ids_of(pages[-1]), "a nextCursor led to an empty page", *pages[-2:])


@check(calls=1)
def endpoints_2_limit_bounds_the_page(service: Subject) -> None:
    """A page has at most `limit` keys."""
    page = service.wire.ask(KEYS, query={"limit": "1"})
    count = len(ids_of(page))
    expect(count <= 1, f"{count} keys are on a page of 1", page)


@check(calls=2)
def limits_page_of_1_and_100_keys(service: Subject) -> None:
    """A `limit` of 1 and of 100 keys is accepted."""
    for limit in ("1", "100"):
        success_members(service.wire.ask(KEYS, query={"limit": limit}))


@check(calls=4)
def limits_page_of_keys_out_of_bounds_is_400(service: Subject) -> None:
    """For keys, a `limit` of 0, 101, -1 or a word is refused with 400."""
    service.expect_status(service.bad_limit, 400, "with limit=0")
    for limit in ("101", "-1", "many"):
        service.expect_status(service.wire.ask(KEYS, query={"limit": limit}), 400, f"with limit={limit}")


@check(calls=1)
def endpoints_2_made_up_cursor(service: Subject) -> None:
    """For keys, an unknown `cursor` is answered with a page or with 400."""
    reply = service.wire.ask(KEYS, query={"cursor": MADE_UP})
    service.expect_status(reply, {200, 400}, "with a made-up cursor")


@check(calls=1)
def endpoints_2_keys_tell_the_quota(service: Subject) -> None:
    """The list of keys has `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`."""
    success_members(service.inventory)
    expect_quota_headers(service.inventory)


def _is_like(value: str, key: str) -> bool:
    """Return whether a value has the length of a key, and its first letters; a masked or shortened one has not."""
    return len(value) == len(key) and value[:3] == key[:3] and value.isascii() and "*" not in value


def _walk(service: Subject) -> Walk:
    limit = min(_LARGEST_PAGE, ceil(len(service.key_ids) / _WALK_PAGES))
    walk = service.walk(KEYS, {"limit": str(max(1, limit))}, 2 * _WALK_PAGES)
    if not walk.is_ended:
        raise NotTried(f"the list has more than {2 * _WALK_PAGES} pages")
    return walk
