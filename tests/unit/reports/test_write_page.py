"""A page is written whole, and replaces nothing else."""

from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError, UsageError
from proofsweep.reports.pages import write_page


def test_another_file_is_not_replaced(tmp_path: Path) -> None:
    """A wrong --file costs nobody a list."""
    (tmp_path / "rejects.csv").write_text("audio")

    with pytest.raises(UsageError, match="is no page and is not replaced"):
        write_page(str(tmp_path / "rejects.csv"), "<!doctype html>")
    assert (tmp_path / "rejects.csv").read_text() == "audio"


def test_a_page_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    """A folder in its place stays; nothing half is left."""
    write_page(str(tmp_path / "new" / "page.html"), "<!doctype html>one")
    write_page(str(tmp_path / "new" / "page.html"), "<!doctype html>two")
    (tmp_path / "folder").mkdir()

    with pytest.raises(ResultsError, match="The report cannot be written"):
        write_page(str(tmp_path / "folder"), "three")
    with pytest.raises(ResultsError, match="The report cannot be written"):
        write_page(str(tmp_path / "new" / "page.html" / "below a file.html"), "four")

    assert (tmp_path / "new" / "page.html").read_text() == "<!doctype html>two"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["folder", "new", "page.html"]
