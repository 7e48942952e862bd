"""How a results store stands, on one screen of a terminal."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from proofsweep.domain.text import minute_of
from proofsweep_cli.active_leg import active_leg_lines
from proofsweep_cli.screen import counted, styled

if TYPE_CHECKING:
    from proofsweep.queries.store_status import CatalogStatus, QuotaStatus, StoreStatus

_SHORTEST_NAME = 14
_NONE = "\N{EN DASH}"


def print_store(out: Console, found: "StoreStatus", url: str) -> None:
    """Print a line for each catalog, then the active runs, and the quota."""
    if not found.catalogs:
        out.print(f"There is no run in {url}; begin one with: proofsweep verify CATALOG", soft_wrap=True)
        return
    _print_catalogs(out, found.catalogs)
    for run in found.active:
        out.print()
        out.print(styled(f"Run {run.leg.run_id}", "bold"), f"— {run.catalog}", soft_wrap=True)
        for line in active_leg_lines(run.leg):
            out.print("  ", line, sep="", soft_wrap=True)
    out.print()
    for quota in found.quotas:
        of = f" of {quota.environment}" if len(found.quotas) > 1 else ""
        out.print(f"quota{of}: {_quota(quota, found.at)}")


def _print_catalogs(out: Console, catalogs: Sequence["CatalogStatus"]) -> None:
    """Print a table; a name that is too long loses its beginning. A terminal too narrow for that gets a few lines."""
    longest = max(len(each.catalog) for each in catalogs)
    unbounded = out.options.update(max_width=1_000)
    room = out.width - out.measure(_table(catalogs, longest), options=unbounded).maximum + longest
    if room >= min(longest, _SHORTEST_NAME):
        out.print(_table(catalogs, min(room, longest)))
        return
    for each in catalogs:
        out.print(styled(each.catalog, "bold"), f"({each.environment})", soft_wrap=True)
        if each.files is not None:
            counts = [f"{count:,} {name}" for name in _counts_in(catalogs) if (count := getattr(each, name))]
            out.print(f"  {', '.join([counted(each.files, 'file'), *counts])}")
        since = "" if each.oldest_open_reject is None else f"; rejects open since {each.oldest_open_reject:%Y-%m-%d}"
        out.print(f"  last run: {each.ended_by}, {minute_of(each.last_at)}{since}")


def _table(catalogs: Sequence["CatalogStatus"], name_width: int) -> Table:
    labels = ["environment"] if len({each.environment for each in catalogs}) > 1 else []
    figures = ["files", *_counts_in(catalogs)]
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for name in [*labels, "catalog", *figures, "open since", "last run (UTC)"]:
        table.add_column(name, justify="right" if name in figures else "left", no_wrap=True)
    for each in catalogs:
        is_long, oldest = len(each.catalog) > name_width, each.oldest_open_reject
        counts = (getattr(each, name) for name in figures)
        table.add_row(
            *(each.environment for _ in labels),
            f"…{each.catalog[1 - name_width :]}" if is_long else each.catalog,
            *(_NONE if count is None else f"{count:,}" for count in counts),
            _NONE if oldest is None else f"{oldest:%Y-%m-%d}",
            f"{each.ended_by} {each.last_at:%Y-%m-%d %H:%M}",
        )
    return table


def _counts_in(catalogs: Sequence["CatalogStatus"]) -> list[str]:
    has_ineligible = any(each.ineligible for each in catalogs)
    return ["covered", "accepted", "rejected", "failed", *(["ineligible"] if has_ineligible else []), "remaining"]


def _quota(quota: "QuotaStatus", now: datetime) -> str:
    left, reset = f"{quota.left:,} calls left at {minute_of(quota.as_of)}", quota.resets_at
    if reset is not None and reset <= now:
        return f"{left}; it has reset since, at {minute_of(reset)}"
    until = "" if reset is None else f" until it resets, {minute_of(reset)}"
    if quota.calls_per_day is None:
        return left + (f"; it resets {minute_of(reset)}" if reset else "")
    pace = f"at {quota.calls_per_day:,.0f} calls a day"
    if quota.ends_on is None:
        return f"{left}; {pace} it lasts{until}"
    return f"{left}; {pace} it ends on {quota.ends_on:%Y-%m-%d}" + (
        f", before it resets, {minute_of(reset)}" if reset else ""
    )
