"""How a spreadsheet shows the number of a cell, and the text that stands for it here. Pure."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isfinite
from typing import ClassVar

# The built-in formats of dates and times (ECMA-376, part 1, 18.8.30), the last ones of East Asia.
_DATES = frozenset({*range(14, 18), 22, *range(27, 37), *range(50, 59)})
_TIMES = frozenset({*range(18, 22), 45, 47})
# Quoted text, escaped letters, and colours or locales in brackets.
_NO_CODE = re.compile(r'"[^"]*"|[\\_*].|\[[^\]]*\]')
_SECONDS_OF_DAY = 86_400
# The days of the two calendars that a workbook may count from; the first one has a 29 February 1900.
_DAY_0, _DAY_0_EARLY, _DAY_0_OF_1904 = datetime(1899, 12, 30), datetime(1899, 12, 31), datetime(1904, 1, 1)  # noqa: DTZ001 - no zone
_FALSE_LEAP_DAY = 60
_DIGITS = re.compile(r"-?[0-9]+")


@dataclass(frozen=True, slots=True)
class CellFormat:
    """What a number means.

    Attributes:
        is_date: whether it counts days.
        is_time: whether it is a time of day.
        digits: with how many digits it is shown at least, as a code with leading zeros is.
    """

    is_date: bool = False
    is_time: bool = False
    digits: int = 0

    PLAIN: ClassVar["CellFormat"]


CellFormat.PLAIN = CellFormat()


def format_of(number: int, code: str) -> CellFormat:
    """Return what a format means, by the number of a built-in one, or by its code."""
    plain = _NO_CODE.sub("", code.partition(";")[0]).lower()
    if code and plain != "general":
        has_days, has_hours = re.search("[dy]", plain) is not None, re.search("[hs]", plain) is not None
        is_date = has_days or ("m" in plain and not has_hours)
        digits = len(plain) if set(plain) == {"0"} else 0
        return CellFormat(is_date=is_date, is_time=has_hours and not is_date, digits=digits)
    return CellFormat(is_date=number in _DATES, is_time=number in _TIMES)


def text_of_number(value: str, shown: CellFormat, *, is_1904: bool = False) -> str:
    """Return the text of a number: a whole one without a point, a date in ISO, an ID with its leading zeros."""
    if _DIGITS.fullmatch(value) and not shown.is_date and not shown.is_time:
        return value.zfill(shown.digits)
    try:
        number = float(value)
        if not isfinite(number):
            return value
        if shown.is_date or shown.is_time:
            return _date_text(number, shown, is_1904=is_1904)
        return str(int(number)).zfill(shown.digits) if number.is_integer() else repr(number)
    except (ValueError, OverflowError):
        return value


def _date_text(days: float, shown: CellFormat, *, is_1904: bool) -> str:
    day_0 = _DAY_0_OF_1904 if is_1904 else _DAY_0 if days >= _FALSE_LEAP_DAY else _DAY_0_EARLY
    at = day_0 + timedelta(seconds=round(days * _SECONDS_OF_DAY))
    if shown.is_time and 0 <= days < 1:
        return at.time().isoformat()
    return at.isoformat() if at.time() != datetime.min.time() else at.date().isoformat()
