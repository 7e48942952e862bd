"""The same tables are on the terminal and on the page."""

from proofsweep.answers.overview.gather import ShownStore, overview_of
from proofsweep.answers.overview.tables import FIGURES, notes_of, tables_of
from proofsweep.answers.overview.values import FlowSchedule
from proofsweep.store.plans_and_parts import Results

from .conftest import NOW


def test_each_table_has_a_cell_for_each_column(results: Results) -> None:
    """What nobody knows is a dash, never an empty cell."""
    tables = {table.title: table for table in tables_of(overview_of([ShownStore(results=results)], NOW))}

    assert list(tables) == ["Catalogs", "Legs", "Keys", "Machines"]
    for table in tables.values():
        assert {len(row) for row in table.rows} == {len(table.columns)}
        assert all(cell for row in table.rows for cell in row)
    assert {name for table in tables.values() for name in table.columns} >= FIGURES


def test_the_cells_say_it_in_words(results: Results) -> None:
    """With units, and silence named."""
    tables = {table.title: table.rows for table in tables_of(overview_of([ShownStore(results=results)], NOW))}
    alive, dead = sorted(tables["Legs"], key=lambda row: row[2])

    assert alive[4:7] == ("7 of 20", "2.0 files/s", "6 s")
    assert dead[-1].endswith(" ago, silent")
    assert "calls a day" in tables["Keys"][0][4]
    assert tables["Keys"][0][4].startswith("spent on 20")


def test_notes_say_what_is_missing(results: Results) -> None:
    """An orchestrator that does not answer, and a store without runs."""
    silent = FlowSchedule(trouble="The Prefect server does not say what is next (ConnectError).")

    assert list(notes_of(overview_of([ShownStore(results=results)], NOW, lambda: silent))) == [silent.trouble]
    assert "No account has a run yet" in next(notes_of(overview_of([], NOW)))
