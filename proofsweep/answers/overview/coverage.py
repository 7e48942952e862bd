"""How each catalog of an environment is covered, from the view; kept in the store until a run changes it. Derived."""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime

from proofsweep.answers.views.connection import answering
from proofsweep.errors import ResultsError
from proofsweep.model import layout
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import IndexedRuns

# The form of what is kept: another version of this program makes it anew.
_FORM = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogCoverage:
    """A row of the view `coverage`, with the identity of its catalog."""

    identity: str
    files: int
    covered: int
    rejected: int
    failed: int
    ineligible: int
    oldest_open_reject: str | None  # ISO instant in UTC

    @property
    def oldest(self) -> datetime | None:
        """The same as an instant."""
        return None if self.oldest_open_reject is None else datetime.fromisoformat(self.oldest_open_reject)


def coverage_of(results: Results, environment: str, index: IndexedRuns) -> Mapping[str, CatalogCoverage]:
    """Return the coverage of the catalogs of an environment by their identity, from the store if it can be.

    It changes when a run is planned, a leg ends, rows are pruned or redacted: by the first reader, it is made anew.
    """
    name, state = layout.coverage_name(environment), _state_of(results, environment, index)
    rows = _kept(results.store.read(name), state)
    if rows is None:
        rows = _asked(results, environment)
        document = {"state": state, "catalogs": [asdict(row) for row in rows]}
        with suppress(ResultsError):  # a reader may have no right to write
            results.store.replace(name, json.dumps(document).encode())
    return {row.identity: row for row in rows}


def _state_of(results: Results, environment: str, index: IndexedRuns) -> str:
    runs = (run for run in index.newest_first() if run.plan.environment == environment)
    known = [f"{run.plan.run_id} {len(run.legs)}" for run in runs]
    known += [f"form {_FORM}", f"{len(index.pruned)} pruned", *results.store.names(layout.REDACTED_FOLDER)]
    return hashlib.sha256("\n".join(known).encode()).hexdigest()


def _kept(content: bytes | None, state: str) -> list[CatalogCoverage] | None:
    try:
        document = json.loads(content or b"{}")
        return [CatalogCoverage(**row) for row in document["catalogs"]] if document["state"] == state else None
    except (ValueError, TypeError, KeyError):
        return None


def _asked(results: Results, environment: str) -> list[CatalogCoverage]:
    names = ", ".join(CatalogCoverage.__slots__)
    with answering(results, environment, "coverage") as connection:
        identities = "SELECT identity, run_id AS newest_run_id FROM store.plans"
        query = f"SELECT {names} FROM coverage JOIN ({identities}) USING (newest_run_id)"  # noqa: S608 - our own names
        found = connection.execute(query).fetchall()
    rows = [dict(zip(CatalogCoverage.__slots__, row, strict=True)) for row in found]
    for row in rows:
        row["oldest_open_reject"] = None if row["oldest_open_reject"] is None else row["oldest_open_reject"].isoformat()
    return [CatalogCoverage(**row) for row in rows]
