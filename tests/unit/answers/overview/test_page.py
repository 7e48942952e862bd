"""The overview as a page."""

from dataclasses import replace

from proofsweep.answers.overview.gather import ShownStore, overview_of
from proofsweep.answers.overview.page import overview_page
from proofsweep.store.plans_and_parts import Results

from .conftest import NOW


def test_the_page_has_each_table_and_runs_nothing_of_others(results: Results) -> None:
    """A catalog's name is text, whatever it holds; without a server, nothing is loaded from anywhere."""
    found = overview_of([ShownStore(results=results)], NOW)
    hostile = [replace(line, catalog="<script>alert(1)</script>") for line in found.catalogs]

    page = overview_page(replace(found, catalogs=hostile), "/proofs")

    assert all(f">{title}</h2>" in page for title in ("Catalogs", "Legs", "Keys", "Machines"))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert 'src="' not in page
    assert "Tables: /proofs." in page
