"""The number of a cell becomes the text that a person sees in it."""

import pytest

from proofsweep.catalog.cell_formats import CellFormat, format_of, text_of_number


@pytest.mark.parametrize(
    ("number", "code", "value", "text"),
    [
        (0, "", "4006381333931", "4006381333931"),
        (0, "General", "1234.0", "1234"),
        (0, "", "4.006381333931E12", "4006381333931"),
        (0, "", "0.10000000000000001", "0.1"),
        (0, "", "-7", "-7"),
        (0, "", "1e999", "1e999"),
        (0, "", "many", "many"),
        (0, "", "", ""),
        (164, "0000000000000", "12345", "0000000012345"),
        (164, "000.0", "12345", "12345"),
        (14, "", "46349", "2026-11-23"),
        (14, "", "1", "1900-01-01"),
        (22, "", "46349.75", "2026-11-23T18:00:00"),
        (20, "", "0.75", "18:00:00"),
        (165, "dd.mm.yyyy", "46349", "2026-11-23"),
        (165, '[$-407]d". "mmmm yyyy;@', "46349", "2026-11-23"),
        (165, "mmm", "46349", "2026-11-23"),
        (165, "h:mm", "0.5", "12:00:00"),
        (165, '0" days"', "3", "3"),
        (165, '#,##0.00 "EUR"', "3.5", "3.5"),
        (14, "", "1e9", "1e9"),
    ],
)
def test_a_number_is_written_as_it_is_shown(number: int, code: str, value: str, text: str) -> None:
    """IDs stay whole and keep their zeros, dates are ISO, and what is no date stays as it is."""
    assert text_of_number(value, format_of(number, code)) == text


def test_a_workbook_may_count_days_from_1904() -> None:
    """As those of old Macs do."""
    assert text_of_number("44887", CellFormat(is_date=True), is_1904=True) == "2026-11-23"
