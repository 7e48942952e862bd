"""Mutants of the pages of both lists, and of whole numbers in a query."""

from collections.abc import Callable
from dataclasses import replace

from proofsweep_sandbox.answers import Answer, Refusal
from proofsweep_sandbox.routing import Exchange, Serve
from proofsweep_sandbox.service import Service

from .broken_registry import list_pending
from .changes import Members, change_query, change_success
from .definition import AnswerChange, Mutant

_LISTS = (("keys", "endpoints-2"), ("proofs", "endpoints-5"))
_NUMBERS = (
    ("keys", "limit", 100, "endpoints-2-limit-out-of-bounds-is-400"),
    ("proofs", "limit", 100, "endpoints-5-limit-out-of-bounds-is-400"),
    ("usage", "days", 90, "limits-usage-window-out-of-bounds-is-400"),
)
_Query = dict[str, str]
_used_cursors: set[str] = set()


def _ending(at: int) -> AnswerChange:
    """End the list with the first page of so many entries."""

    def end(members: Members) -> None:
        for name in ("keys", "items"):
            if len(members.get(name, [])) >= at:
                members[name] = members[name][:at]
                members.pop("nextCursor", None)

    return change_success(end)


def _refused_cursor(query: _Query) -> None:
    if "cursor" in query:
        query.setdefault("limit", "0")


def _restarted(query: _Query) -> None:
    if "limit" not in query:
        query.pop("cursor", None)


def _reversed_later(service: Service, exchange: Exchange, answer: Answer) -> Answer:
    if "cursor" not in exchange.request.query_params:
        return answer
    return change_success(lambda members: members["items"].reverse())(service, exchange, answer)


def _cursor_once(serve: Serve) -> Serve:
    async def show(service: Service, exchange: Exchange) -> Answer:
        cursor = exchange.request.query_params.get("cursor", "")
        if cursor in _used_cursors:
            raise Refusal(400, "invalid_request", "this cursor was used")
        _used_cursors.update({cursor} - {""})
        return await serve(service, exchange)

    return show


def _first_digits(name: str, _: int) -> Callable[[_Query], None]:
    """Read a number as some languages do: up to its first other character."""

    def change(query: _Query) -> None:
        value = query.get(name, "")
        digits = value[: next((at for at, each in enumerate(value) if not each.isdigit()), len(value))]
        query.update({name: digits} if digits else {})

    return change


def _cut(name: str, highest: int) -> Callable[[_Query], None]:
    """Take a number that zeros precede for the largest one, if it is larger."""

    def change(query: _Query) -> None:
        value = query.get(name, "")
        if value.startswith("0") and value.isdigit() and int(value) > highest:
            query[name] = str(highest)

    return change


def _unbounded(service: Service) -> Service:
    return replace(service, unspecified=replace(service.unspecified, page_size=1_000))


def _of_both_lists() -> list[Mutant]:
    mutants: list[Mutant] = []
    for name, section in _LISTS:
        on, sizes, alone = (name,), f"{section}-pages-of-any-size-agree", f"{section}-cursor-alone"
        refused, restarted = change_query(_refused_cursor), change_query(_restarted)
        mutants += [
            Mutant(rule=sizes, breaks=f"a page of 20 {name} is the last one", on=on, change_answer=_ending(20)),
            Mutant(rule=sizes, breaks=f"the list ends after 100 {name}", on=on, change_answer=_ending(100)),
            Mutant(rule=alone, breaks="a cursor without a limit is refused", on=on, change_request=refused),
            Mutant(rule=alone, breaks="a cursor without a limit begins anew", on=on, change_request=restarted),
            Mutant(
                rule=alone, breaks="a cursor without a limit gives all that follows", on=on, replace_part=_unbounded
            ),
            Mutant(rule=f"{section}-cursor-again", breaks="a cursor works once", on=on, wrap_serve=_cursor_once),
        ]
    return mutants


def _of_whole_numbers() -> list[Mutant]:
    readers = (
        (_first_digits, "a number is read up to its first other character"),
        (_cut, "zeros hide that a number is too large"),
    )
    return [
        Mutant(rule=rule, breaks=breaks, on=(on,), change_request=change_query(read(name, highest)))
        for on, name, highest, rule in _NUMBERS
        for read, breaks in readers
    ]


MUTANTS = (
    *_of_both_lists(),
    *_of_whole_numbers(),
    Mutant(
        rule="endpoints-5-newest-first-on-all-pages",
        breaks="pages after the first are oldest first",
        on=("proofs",),
        change_answer=_reversed_later,
    ),
    Mutant(
        rule="endpoints-5-limit-is-optional",
        breaks="a list without a limit is refused",
        on=("proofs",),
        change_request=change_query(lambda query: query.setdefault("limit", "0")),
    ),
    Mutant(
        rule="endpoints-5-pending-proofs-are-not-listed",
        breaks="pending proofs are listed",
        on=("proofs",),
        replace_part=list_pending,
    ),
)
