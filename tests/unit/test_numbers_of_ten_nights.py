"""Each number that is shown of a store is the one that its rows give: in views, commands, alerts, lists and pages."""

import os
import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from proofsweep.alerts.facts import AlertFacts
from proofsweep.config.sections import AlertsSettings, CatalogSettings, ServiceSettings
from proofsweep.queries.connection import opened
from proofsweep.queries.page_facts import PageFacts, catalog_facts, run_facts
from proofsweep.queries.run_calls import calls_of_run
from proofsweep.queries.selected_rows import IS_OPEN, SelectedRows, items_standing
from proofsweep.queries.status import describe_run
from proofsweep.queries.store_status import store_status
from proofsweep.reports.export import Target, export
from proofsweep.reports.languages import Languages
from proofsweep.results import ResultsStore
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results

from ..worlds import known_nights
from ..worlds.cookbook_answers import ANSWERS, MONTH
from ..worlds.counted_rows import OPEN, Cells, CountedRows, key_of

PAGE = Path(__file__).parents[2] / "docs" / "cookbook.md"
QUESTIONS = re.findall(r"\*\*(\d+)\. .*?\n```sql\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
STATES = ("accepted", "rejected", "failed", "ineligible", "not_sent", "gone", "moved")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _file: None)
        return known_nights.fill(Results(FolderStore(tmp_path_factory.mktemp("nights"))))


@pytest.fixture(scope="module")
def truth(results: Results) -> CountedRows:
    return known_nights.truth(results)


def test_coverage_and_status_count_each_catalog_as_its_rows_say(results: Results, truth: CountedRows) -> None:
    """A list that is retired, another environment and a watched folder are none of them."""
    rows = ResultsStore(results, "production").table("coverage").to_pylist()
    catalogs = {each.catalog: each.counts for each in store_status(results, datetime.now(UTC)).catalogs if each.counts}

    assert {row["catalog"] for row in rows} == {*truth.listings}
    for row in rows:
        counts = truth.coverage(row["catalog"])
        answers = [
            file for file in map(truth.files.get, truth.listings[row["catalog"]]) if file["state"] != "ineligible"
        ]
        times = [file["answered_at"] for file in answers if file["answered_at"] is not None]
        since = [file["rejected_since"] for file in answers if file["rejected_since"] is not None]
        assert {name: row[name] for name in STATES} == {name: counts[name] for name in STATES}
        assert (row["files"], row["answered"], row["covered"]) == (
            counts["files"],
            counts["answered"],
            counts["covered"],
        )
        assert row["need_attention"] == sum(counts[state] for state in OPEN)
        assert (row["oldest_answer"], row["newest_answer"]) == (min(times), max(times))
        assert row["answered_in_30_days"] == sum(time >= MONTH for time in times)
        assert row["oldest_open_reject"] == min(since)
        shown = catalogs.get(row["catalog"], {})
        assert shown == {name: counts[name] for name in shown} | {"remaining": counts["files"] - counts["covered"]}
    production = {*truth.listings}
    assert production <= {*catalogs}


def test_a_file_has_its_history(results: Results, truth: CountedRows) -> None:
    """When it was first seen, since when it is rejected, where it moved to, and what its row cost."""
    names = ("state", "catalog", "file", "first_seen_at", "rejected_since", "moved_to", "calls", "audio_format")
    rows = ResultsStore(results, "production").table("catalog").to_pylist()

    assert {row["item_id"]: [row[name] for name in names] for row in rows} == {
        item: [file.get(name) for name in names] for item, file in truth.files.items()
    }


def test_each_run_has_one_row_and_each_number_of_it_is_that_of_its_rows(results: Results, truth: CountedRows) -> None:
    """Over legs and partitions, with a leg that was killed and has no receipt: in a view, in `status` and in alerts."""
    totals = {row["run_id"]: row for row in ResultsStore(results, "production").table("run_totals").to_pylist()}

    assert {*totals} == {*truth.plans}
    for run_id, total in totals.items():
        counts, status = truth.outcomes(run_id), describe_run(results, run_id)
        legs = [leg for leg in truth.runs if leg["run_id"] == run_id]
        remaining = truth.plans[run_id]["items"] - counts.total()
        outcomes = ("accepted", "rejected", "failed", "ineligible")
        assert {name: total[name] for name in outcomes} == {name: counts[name] for name in outcomes}
        assert {name: status.rows(name) for name in outcomes} == {name: counts[name] for name in outcomes}
        assert total["remaining"] == status.remaining == remaining
        assert (total["legs"], total["calls"]) == (len(legs), sum(leg["calls"] for leg in legs))
        assert status.total("calls") == total["calls"] == sum(row["calls"] for row in _received(truth, run_id))
        assert total["ended_by"] == ("window" if remaining else "complete")
        if remaining:
            title, items = str(_alerts(results).end_of_run(status).title), truth.plans[run_id]["items"]
            assert title.endswith(f"{remaining} of {items} rows {'remains' if remaining == 1 else 'remain'}")
    assert calls_of_run(results, max(totals)) is not None


def _received(truth: CountedRows, run_id: str) -> list[dict[str, object]]:
    """Return the rows of legs that have ended: what a killed one has called nobody knows yet."""
    legs = {leg["leg"] for leg in truth.runs if leg["run_id"] == run_id}
    return [row for row in truth.rows_of(run_id) if row["leg"] in legs]


def _alerts(results: Results) -> AlertFacts:
    return AlertFacts(
        results=results,
        service=ServiceSettings(environment="production", base_url="https://partner.example/v1"),  # type: ignore[arg-type]
        catalogs=CatalogSettings(),
        settings=AlertsSettings(),
        clock=lambda: datetime.now(UTC),
        is_well=lambda: True,
    )


def test_lists_and_letters_have_each_open_file_of_a_supplier_once(
    results: Results, truth: CountedRows, tmp_path: Path
) -> None:
    """However the supplier is spelled; a letter is of what the supplier can mend."""
    selected = SelectedRows(results=results, environment="production")
    suppliers = Counter(key_of(file["supplier"]) for file in truth.there(*OPEN))
    mendable = Counter(key_of(file["supplier"]) for file in truth.there("rejected", "ineligible"))

    with selected.opened(IS_OPEN) as files:
        [value] = files.tag_values(["supplier"]).values()
        assert {key: count for key, _, count in files.counts_by(value)} == suppliers
    today, languages = date(2026, 11, 20), Languages.of({})
    to_lists = Target.of(f"{tmp_path}/lists/", None, "report")
    lists = export(selected, OPEN, to_lists, today=today, by="supplier", languages=languages)
    to_letters = Target.of(f"{tmp_path}/letters/", "letter", "letter")
    letters = export(selected, OPEN, to_letters, today=today, by="supplier", languages=languages)
    assert sorted(each.rows for each in lists) == sorted(suppliers.values())
    assert sorted(each.rows for each in letters) == sorted(mendable.values())
    written = "".join(letter.path.read_text("utf-8") for letter in letters)
    assert [written.count(f"{file['file']}\n") for file in truth.there("rejected", "ineligible")] == [
        1
    ] * mendable.total()
    assert {*items_standing(results, "production", ["rejected"])} == {
        file["item_id"] for file in truth.files.values() if file["outcome"] == "rejected"
    }


def test_a_page_counts_as_the_rows_do(results: Results, truth: CountedRows) -> None:
    """Of all catalogs, of one of them, and of a run; its nights have each row of their runs once."""
    page, own = catalog_facts(results, "production"), catalog_facts(results, "production", known_nights.NIGHTLY)
    newest = max(run_id for run_id, plan in truth.plans.items() if plan["catalog"] == known_nights.NIGHTLY)
    states = Counter(file["state"] for file in truth.files.values())

    assert _counts(page) == {name: states[name] for name in STATES if name != "moved"} | {"files": len(truth.there())}
    counts = truth.coverage(known_nights.NIGHTLY)
    assert _counts(own) == {name: counts[name] for name in ("files", *STATES) if name != "moved"}
    nights: dict[str, Counter[str]] = {}
    for run_id, plan in truth.plans.items():
        if plan["catalog"] == known_nights.NIGHTLY:
            nights.setdefault(run_id[:8], Counter()).update(truth.outcomes(run_id))
    assert {f"{night.day:%Y%m%d}": +night.found for night in own.nights} == nights
    assert run_facts(results, newest).counts.files == truth.outcomes(newest).total()


def _counts(page: PageFacts) -> dict[str, int]:
    return {name: getattr(page.counts, name) for name in ("files", *STATES) if name != "moved"}


def test_each_question_of_the_cookbook_has_the_answer_that_the_rows_give(results: Results, truth: CountedRows) -> None:
    """Over legs, partitions, copies, renamed and retired files, another environment, and suppliers in all spellings."""
    assert [number for number, _ in QUESTIONS] == [*ANSWERS] == [str(number) for number in range(1, 21)]
    with opened(results, "production") as store:
        for number, query in QUESTIONS:
            expected = [*ANSWERS[number](truth)]
            answer = store.execute(query)
            names = [column[0] for column in answer.description]
            rows = [dict(zip(names, cells, strict=True)) for cells in answer.fetchall()]
            assert expected
            assert (number, _bag(rows, expected[0])) == (number, _bag(expected, expected[0]))


def _bag(rows: Iterable[Cells], names: Iterable[str]) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row[name] for name in names) for row in rows)
