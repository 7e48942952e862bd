"""`changes` reads in full only the items that differ by a digest; that leaves no change out."""

from pathlib import Path
from random import Random

import pytest

from proofsweep.domain.items import Row
from proofsweep.queries.connection import opened
from proofsweep.queries.views import views
from proofsweep.store.parts import Results

from ...worlds.ended_nights import ACCEPTED, FAILED, INELIGIBLE, MONDAY, REJECTED, THURSDAY, TUESDAY, WEDNESDAY, night

NIGHTS = (MONDAY, TUESDAY, WEDNESDAY, THURSDAY, "20261120T020000Z_000aaaaaa", "20261121T020000Z_000aaaaaa")
OTHER_CELLS: list[Row] = [
    {"audio_sha256": "other"},
    {"audio_sha256": "sha of c"},
    {"audio_sha256": None, "audio_version": "2"},
    {"sidecar": "/s", "sidecar_sha256": "2"},
    {"relative_path": "elsewhere"},
    {"classification": "human", "grade_human": 0.1, "grade_rubric_version": "2"},
    {"audio": "/elsewhere", "relative_path": None, "audio_sha256": None, "verdict": None},
]
# Each cell of two rows that the view compares, but for the sidecar: there its digest and that there is one.
ONE_CELL: list[Row] = [
    {"audio_sha256": "other"},
    {"audio_version": "2"},
    {"sidecar": "/s"},
    {"relative_path": "elsewhere"},
    {"relative_path": None, "audio": "/elsewhere"},
    {"outcome": "rejected"},
    {"verdict": "unheard"},
    {"reason": "unheard"},
    {"classification": "unheard"},
    {"grade_human": 0.1},
    {"grade_ai": 0.1},
    {"grade_unknown": 0.1},
    {"grade_risk_category": "unheard"},
    {"grade_rubric_version": "unheard"},
]


@pytest.mark.parametrize("seed", range(4))
def test_the_narrowed_view_gives_what_the_whole_rows_give(results: Results, seed: int) -> None:
    """Over catalogs, environments, items listed twice, failed, stopped and pruned rows."""
    lots = Random(seed)  # noqa: S311 - no secret
    for run_id in NIGHTS:
        _leave_some_night(results, run_id, lots)
    parts = sorted(Path(results.store.url).glob("verdicts/*/*.parquet"))
    for part in lots.sample(parts, lots.choice((0, 0, 1))):
        part.unlink()

    with opened(results, "all") as store:
        narrowed = store.connection.execute("FROM changes ORDER BY ALL").fetchall()
        one = lots.choice(NIGHTS)
        of_one = store.connection.execute("FROM changes WHERE run_id = ? ORDER BY ALL", [one]).fetchall()
        store.connection.execute(_over_whole_rows())
        whole = store.connection.execute("FROM changes ORDER BY ALL").fetchall()

    assert whole
    assert narrowed == whole
    assert of_one == [row for row in whole if row[0] == one]


def test_each_cell_that_is_compared_is_in_the_digest(results: Results) -> None:
    """An item that differs in one of them alone is read."""
    items = [f"item {number}" for number in range(len(ONE_CELL))]
    before = dict.fromkeys(items, ACCEPTED)
    before["item 1"] = ACCEPTED | {"audio_sha256": None, "audio_version": "1"}  # versions count without a digest
    night(results, MONDAY, before)
    night(results, TUESDAY, {item: before[item] | cell for item, cell in zip(items, ONE_CELL, strict=True)})

    with opened(results, "all") as store:
        changed = store.connection.execute("SELECT item_id FROM changes WHERE change <> 'new' ORDER BY ALL").fetchall()

    assert changed == [(item,) for item in sorted(items)]


def _over_whole_rows() -> str:
    """Return the view without its digests."""
    (view,) = (view for view in views() if view.name == "changes")
    head, _, rest = view.statement().partition("    JOIN differing ")
    _, end, tail = rest.partition("    UNION ALL")
    assert end
    return head + end + tail


def _leave_some_night(results: Results, run_id: str, lots: Random) -> None:
    outcomes = [ACCEPTED] * 4 + [REJECTED, FAILED, INELIGIBLE]
    rows: dict[str, Row] = {}
    for item in lots.sample("abcdefg", lots.randint(1, 7)):
        rows[item] = lots.choice(outcomes) | (lots.choice(OTHER_CELLS) if lots.random() < 0.2 else {})
        if lots.random() < 0.2:
            rows[f"{item} again"] = lots.choice(outcomes) | {"item_id": item, "finished_at": None}
    night(
        results,
        run_id,
        rows,
        remaining=lots.choice((0, 0, 0, 1)),
        is_noted=lots.random() < 0.5,
        catalog=lots.choice(("/c/catalog.csv", "/c/catalog.csv", "/c/another.csv")),
        environment=lots.choice(("beta", "beta", "beta", "production")),
        catalog_kind=lots.choice(("manifest", "manifest", "manifest", "ingest")),
    )
