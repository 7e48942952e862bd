"""Mutants of the list of proofs."""

from .broken_parts import skip_one_entry
from .changes import Members, change_query, change_status, change_success, replace_query_value
from .definition import Mutant


def _set_in_items(members: Members, **changed: object) -> None:
    for item in members["items"]:
        item.update(changed)


def _in_milliseconds(members: Members) -> None:
    for item in members["items"]:
        item["issuedAt"] *= 1000


MUTANTS = (
    Mutant(
        rule="resources-proofs-item-fields",
        breaks="`hasFeedback` is a string",
        on=("proofs",),
        change_answer=change_success(lambda members: _set_in_items(members, hasFeedback="no")),
    ),
    Mutant(
        rule="resources-proofs-item-fields",
        breaks="`issuedAt` is in milliseconds",
        on=("proofs",),
        change_answer=change_success(_in_milliseconds),
    ),
    Mutant(
        rule="endpoints-5-newest-first-on-all-pages",
        breaks="the oldest proof is first",
        on=("proofs",),
        change_answer=change_success(lambda members: members["items"].reverse()),
    ),
    Mutant(
        rule="endpoints-5-pages-of-any-size-agree",
        breaks="the cursor is ignored",
        on=("proofs",),
        change_request=change_query(lambda query: query.pop("cursor", None)),
    ),
    Mutant(
        rule="endpoints-5-pages-of-any-size-agree",
        breaks="the cursor skips a proof",
        on=("proofs",),
        replace_part=skip_one_entry,
    ),
    Mutant(
        rule="resources-proofs-next-cursor-absent-at-the-end",
        breaks="`nextCursor` is null on the last page",
        on=("proofs",),
        change_answer=change_success(lambda members: members.setdefault("nextCursor", None)),
    ),
    Mutant(
        rule="endpoints-5-pages-of-any-size-agree",
        breaks="a page has one proof more",
        on=("proofs",),
        change_request=replace_query_value("limit", "1", "2"),
    ),
    Mutant(
        rule="endpoints-5-pages-of-any-size-agree",
        breaks="a page of 100 is refused",
        on=("proofs",),
        change_request=replace_query_value("limit", "100", "101"),
    ),
    Mutant(
        rule="endpoints-5-limit-out-of-bounds-is-400",
        breaks="a limit of 0 is accepted",
        on=("proofs",),
        change_request=replace_query_value("limit", "0", "1"),
    ),
    Mutant(
        rule="endpoints-5-limit-out-of-bounds-is-400",
        breaks="a limit of 101 is accepted",
        on=("proofs",),
        change_request=replace_query_value("limit", "101", "100"),
    ),
    Mutant(
        rule="endpoints-5-odd-cursor-is-no-failure",
        breaks="an unknown cursor is answered with 404",
        on=("proofs",),
        change_answer=change_status(400, 404, where=lambda exchange: "cursor" in exchange.request.query_params),
    ),
)
