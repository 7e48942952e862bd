"""The pages of nights: only those of runs that have changed are made."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice

from proofsweep.model.run_records import RunRecord
from proofsweep.model.runs import PARTIAL_KINDS
from proofsweep.store.store import Store

NIGHTS_FOLDER = "nights"
NIGHTS_INDEX = f"{NIGHTS_FOLDER}/index.html"

# Runs over whole catalogs, and over parts of them, that have a page. Chosen: a year of nights, and some days of passes.
_MOST_NIGHTS, _MOST_PARTS = 400, 100


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
