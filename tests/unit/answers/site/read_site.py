"""What a browser reads of a site, read in a test."""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from proofsweep.answers.site.levels import Level
from proofsweep.answers.site.look_up import LookUp, delete_old, updated_look_up
from proofsweep.answers.site.site_state import SiteState
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import RunIndex
from proofsweep.store.store import Store

_CALL = re.compile(r"proofsweep\((.*)\);\n", re.DOTALL)
_FIELDS = (
    *("file", "catalog", "state", "is_current", "moved_to", "why", "what_to_do", "detail", "song", "proof_id"),
    *("issued_at", "run_id", "finished_at", "verify_request_id", "tags", "history"),
)
NOW = datetime(2026, 11, 24, 5, tzinfo=UTC)


class LookUps:
    """The look-up of a site in a folder, updated again and again as nights come; `state` is what the last one left."""

    def __init__(self, results: Results, site: Store) -> None:
        self._results = results
        self.site = site
        self.state = SiteState(results=results.store.url, environment="beta")

    def update(self, now: datetime = NOW) -> LookUp:
        """Bring the look-up up to date, and delete what nothing names any more."""
        runs = list(RunIndex(self._results).refreshed().newest_first())
        found = updated_look_up(self._results, self.site, self.state, runs, now)
        delete_old(self.site, self.state, found.state, now)
        self.state = found.state
        return found

    @property
    def records(self) -> dict[str, dict[str, Any]]:
        """The newest record of each file, by its name."""
        return records_of(self.site, self.state.levels)


def records_of(site: Store, levels: Iterable[Level]) -> dict[str, dict[str, Any]]:
    """Read the newest record of each file, by its name."""
    newest: dict[str, list[Any]] = {}
    for level in levels:
        for shard in range(2**level.bits):
            _, name, number, records = arguments_of(site, f"{level.folder}/r{shard}.js")
            assert (name, number) == (level.name, shard)
            for each, record in records.items():
                newest[each] = max(newest.get(each, [0, None]), record, key=lambda one: one[0])
    shown = (dict(zip(_FIELDS, payload, strict=True)) for _, payload in newest.values() if payload is not None)
    return {str(record["file"]): record for record in shown}


def words_of(site: Store, levels: Iterable[Level]) -> Iterator[list[Any]]:
    """Read the words of some levels: each with how many files it finds, and with their IDs unless they are many."""
    for level in levels:
        for shard, first in enumerate(level.words):
            _, _, _, words = arguments_of(site, f"{level.folder}/w{shard}.js")
            assert words[0][0] == first
            yield from words


def arguments_of(site: Store, name: str) -> list[Any]:
    """Read what a script of the site says; no name in it can end it, or a line of it."""
    script = (site.read(name) or b"").decode()
    assert not set(script) & set("<>&\u2028\u2029")
    call = _CALL.fullmatch(script)
    assert call is not None, script
    arguments: list[Any] = json.loads(f"[{call[1]}]")
    return arguments


def files_below(site: Store) -> dict[str, int]:
    """Return each file of a site in a folder, with the time at which it was written."""
    root = Path(site.url)
    return {str(path.relative_to(root)): path.stat().st_mtime_ns for path in root.rglob("*") if path.is_file()}
