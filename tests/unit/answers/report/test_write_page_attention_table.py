"""The table shows what others wrote as text."""

import pytest

from proofsweep.answers.report import write_page as module
from proofsweep.answers.report.write_page import attention_table
from proofsweep.answers.views.selected_rows import SelectedRows
from proofsweep.store.plans_and_parts import Results

from .reported_store import PLAN, fill

ATTENTION = ("rejected", "failed")


def test_hostile_names_are_escaped_and_short(results: Results) -> None:
    """Markup, overrides of the writing direction and very long names."""
    selected = SelectedRows(results=fill(results), environment="beta", plan=PLAN, outcomes=ATTENTION)

    table, left_out = attention_table(selected, 2)

    assert left_out == 0
    assert "hacked'" not in table
    assert "\u202e" not in table
    assert "x" * 201 not in table
    assert "timeout" in table
    assert "supplier: Acme" in table


def test_what_does_not_fit_is_counted(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page must open on a phone."""
    monkeypatch.setattr(module, "_MOST_FILES", 1)
    selected = SelectedRows(results=fill(results), environment="beta", plan=PLAN, outcomes=ATTENTION)

    assert attention_table(selected, 2)[1] == 1


def test_no_files_need_no_table(results: Results) -> None:
    """Nor its script."""
    selected = SelectedRows(results=fill(results), environment="beta", plan=PLAN, outcomes=("ineligible",))

    assert attention_table(selected, 0)[0] == ""
