"""An overview as tables of text, which the terminal and the page show alike. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from proofsweep.answers.overview.values import CatalogLine, KeyLine, LegLine, MachineLine, Overview
from proofsweep.text import duration_text, minute_of

_NONE = "\N{EN DASH}"

FIGURES = frozenset({"files", "covered", "remaining", "rejected", "failed", "quota left"})
"""Columns of numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """A table of text."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def tables_of(found: Overview) -> Iterator[TextTable]:
    """Yield the tables that have a row."""
    of_catalogs = ("account", "catalog", "files", "covered", "remaining", "rejected", "failed")
    for title, columns, rows in (
        ("Catalogs", (*of_catalogs, "oldest open reject", "last run", "next run"), map(_catalog, found.catalogs)),
        ("Legs", ("machine", "account", "catalog", "run", "rows", "rate", "left", "heartbeat"), map(_leg, found.legs)),
        (
            "Keys",
            ("account", "key", "quota left", "as of", "at this pace", "key ends", "lane"),
            (_key(line, found.at) for line in found.keys),
        ),
        ("Machines", ("machine", "works on", "heartbeat"), (_machine(line, found.at) for line in found.machines)),
    ):
        if listed := list(rows):
            yield TextTable(title=title, columns=columns, rows=listed)


def notes_of(found: Overview) -> Iterator[str]:
    """Yield what else a person must know."""
    if not found.catalogs:
        yield "No account has a run yet; begin one with: proofsweep verify CATALOG"
    if found.schedule is not None and found.schedule.trouble:
        yield found.schedule.trouble


def _catalog(line: CatalogLine) -> Sequence[str]:
    oldest, counts = line.oldest_open_reject, (line.files, line.covered, line.remaining, line.rejected, line.failed)
    return (
        line.account,
        line.catalog,
        *map(_count, counts),
        _NONE if oldest is None else f"{oldest:%Y-%m-%d}",
        f"{line.last_ended_by}, {minute_of(line.last_at)}",
        _minute(line.next_run),
    )


def _leg(line: LegLine) -> Sequence[str]:
    leg, told = line.leg, line.leg.progress
    rate, left = (None, None) if told is None else (told.rate, told.seconds_left)
    return (
        leg.claim.host,
        line.account,
        line.catalog,
        leg.run_id,
        _NONE if told is None else f"{told.finished:,} of {told.rows:,}",
        _NONE if rate is None else f"{rate:,.1f} files/s",
        _NONE if left is None else duration_text(left),
        _age(leg.age_seconds, is_silent=not leg.is_alive),
    )


def _key(line: KeyLine, now: datetime) -> Sequence[str]:
    days, spent_on = line.days_left(now), line.spent_on()
    pace = None if line.calls_per_day is None else f"{line.calls_per_day:,.0f} calls a day"
    until = "lasts" if spent_on is None else f"spent on {spent_on:%Y-%m-%d}"
    return (
        line.account,
        line.fingerprint,
        _count(line.quota_left),
        _minute(line.as_of),
        _NONE if pace is None or line.quota_left is None else f"{until}, {pace}",
        _NONE if days is None else f"in {days} days" if days else "within a day, or it has ended",
        _NONE if line.lane_rate is None else f"{line.lane_rate:,.1f} calls/s",
    )


def _machine(line: MachineLine, now: datetime) -> Sequence[str]:
    age = None if line.beaten_at is None else max(0.0, (now - line.beaten_at).total_seconds())
    return line.name, _list(line.works_on), _NONE if age is None else _age(age, is_silent=line.is_silent)


def _age(seconds: float, *, is_silent: bool) -> str:
    return f"{duration_text(seconds)} ago{', silent' if is_silent else ''}"


def _list(texts: Iterable[str]) -> str:
    return "; ".join(texts) or _NONE


def _count(count: int | None) -> str:
    return _NONE if count is None else f"{count:,}"


def _minute(instant: datetime | None) -> str:
    return _NONE if instant is None else minute_of(instant)
