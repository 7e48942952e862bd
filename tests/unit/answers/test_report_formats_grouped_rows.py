"""Rows of a report are put apart on disk."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.answers import report_formats
from proofsweep.answers.report_formats import GroupedRows, ReportRow


def row_of(name: str, **tags: str) -> ReportRow:
    """Make a row with two own cells, a name and an instant."""
    return ReportRow(tags, [name, datetime(2026, 11, 20, tzinfo=UTC)])


def test_each_group_gives_its_rows_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when they went to disk in several portions; names that are not UTF-8 come back as they were."""
    monkeypatch.setattr(report_formats, "_WAITING_ROWS", 2)
    groups = GroupedRows(tmp_path)
    for number in range(5):
        groups.add("a" if number % 2 else "../b", row_of(f"{number}\udcff\n"))

    assert groups.counts == {"a": 2, "../b": 3}
    assert [row.own[0] for row in groups.rows("../b")] == ["0\udcff\n", "2\udcff\n", "4\udcff\n"]
    assert [row.own[1] for row in groups.rows("a")] == ["2026-11-20T00:00:00+00:00"] * 2


def test_the_tags_of_a_group_are_those_of_its_rows(tmp_path: Path) -> None:
    """A supplier's list has no columns of another supplier."""
    groups = GroupedRows(tmp_path)
    groups.add("a", row_of("1", isrc="x"))
    groups.add("b", row_of("2", upc="y"))
    groups.add("a", row_of("3", title="z"))

    assert [*groups.tag_names["a"]] == ["isrc", "title"]
