"""The pages of nights, and their list: only those of runs that have changed since are made."""

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice

from proofsweep.answers.report.templates import template
from proofsweep.endings import ending_of
from proofsweep.model.run_records import OUTCOMES, RunRecord
from proofsweep.model.runs import PARTIAL_KINDS
from proofsweep.store.store import Store
from proofsweep.text import minute_of

NIGHTS_FOLDER = "nights"
NIGHTS_INDEX = f"{NIGHTS_FOLDER}/index.html"

# Runs over whole catalogs, and over parts of them, that have a page. Chosen: a year of nights, and some days of passes.
_MOST_NIGHTS, _MOST_PARTS = 400, 100
_COUNTED = (*OUTCOMES, "calls")


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """A row of the list of nights: files, the rows of each outcome, those that remain, and calls."""

    run_id: str
    began: str
    catalog: str
    ended: str
    counts: tuple[int, ...]
    minutes: float
    has_page: bool


def chosen_nights(records: Iterable[RunRecord], environment: str) -> list[RunRecord]:
    """Return the runs that have a page, of runs that are sorted: those of an environment with a leg that has ended."""
    own = [each for each in records if each.plan.environment == environment and each.legs]
    whole = (each for each in own if each.plan.catalog_kind not in PARTIAL_KINDS)
    parts = (each for each in own if each.plan.catalog_kind in PARTIAL_KINDS)
    chosen = [*islice(whole, _MOST_NIGHTS), *islice(parts, _MOST_PARTS)]
    return sorted(chosen, key=lambda each: each.plan.run_id, reverse=True)


@dataclass(frozen=True, slots=True)
class NightPages:
    """Writes the pages of nights; `page` makes one, and at most `most` are written at once, the newest first."""

    store: Store
    page: Callable[[str], str]
    most: int | None = None

    def written(self, nights: Iterable[RunRecord], before: Mapping[str, str]) -> dict[str, str]:
        """Write pages that differ from before, delete those of other runs, and return the digests of all there are."""
        digests = dict(_digests(nights))
        changed = [run_id for run_id, digest in digests.items() if before.get(run_id) != digest]
        for run_id in changed[: self.most]:
            self.store.replace(_name_of(run_id), self.page(run_id).encode("utf-8", "replace"))
        there = {NIGHTS_INDEX, *map(_name_of, digests)}
        for name in self.store.names(NIGHTS_FOLDER):
            if name not in there:
                self.store.delete(name)
        due = set() if self.most is None else set(changed[self.most :])
        kept = {run_id: before[run_id] for run_id in due if run_id in before}
        return kept | {run_id: digest for run_id, digest in digests.items() if run_id not in due}


def _name_of(run_id: str) -> str:
    return f"{NIGHTS_FOLDER}/{run_id}.html"


def _digests(nights: Iterable[RunRecord]) -> Iterator[tuple[str, str]]:
    """Digest what a page is made of. That of a catalog's newest run tells how the catalog stands."""
    seen: set[str] = set()
    for night in nights:
        is_newest = night.plan.identity not in seen
        seen |= set() if night.plan.catalog_kind in PARTIAL_KINDS else {night.plan.identity}
        content = json.dumps([night.document(), is_newest], sort_keys=True, default=str)
        yield night.plan.run_id, sha256(content.encode()).hexdigest()[:16]


def page_of_nights(nights: Iterable[RunRecord], with_pages: Container[str]) -> str:
    """Write the list of nights, in the order in which they are given; some have a page."""
    rows = [night_of(each, has_page=each.plan.run_id in with_pages) for each in nights]
    return template("nights.html.jinja").render(nights=rows)


def night_of(record: RunRecord, *, has_page: bool) -> Night:
    """Count the rows of a run over all its legs."""
    sums = {name: sum(_int(leg.counts.get(name)) for leg in record.legs) for name in _COUNTED}
    outcomes = [sums[name] for name in OUTCOMES]
    ended = ending_of(record.legs[-1].receipt.get("ended_by"))
    return Night(
        run_id=record.plan.run_id,
        began=minute_of(datetime.fromisoformat(record.plan.created_at).astimezone(UTC)).removesuffix(" UTC"),
        catalog=record.plan.catalog,
        ended="" if ended is None else ended.meaning,
        counts=(record.plan.items, *outcomes, record.remaining, sums["calls"]),
        minutes=sum(_seconds(leg.counts) for leg in record.legs) / 60,
        has_page=has_page,
    )


def _int(count: object) -> int:
    return count if isinstance(count, int) else 0


def _seconds(counts: Mapping[str, object]) -> float:
    began, ended = (counts.get(name) for name in ("started_at", "finished_at"))
    if began is None or ended is None:
        return 0.0
    return (datetime.fromisoformat(str(ended)) - datetime.fromisoformat(str(began))).total_seconds()
