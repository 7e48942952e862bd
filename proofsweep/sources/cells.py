"""What a cell of a list says: one text for a value, whatever format holds it, or that it has no value. Pure."""

import json
import re
from collections.abc import Sequence
from datetime import datetime, time, timedelta
from decimal import Decimal
from math import isfinite, isnan

from proofsweep.domain.text import counted

FORMULA = "#FORMULA!"
"""Stands for a formula whose value no program has worked out."""
FORMULA_OF_ZERO = "#FORMULA!0"
"""Stands for a formula with the value 0: many programs write that before it is worked out. A location is never 0."""
BINARY = "#BINARY!"
"""Stands for bytes that are no text."""

# What spreadsheets show for an error, in the languages in which they write it into CSV.
_WRITTEN = """
    #N/A #REF! #VALUE! #DIV/0! #NAME? #NULL! #NUM! #SPILL! #CALC! #GETTING_DATA #FIELD! #BLOCKED! #CONNECT! #UNKNOWN!
    #BUSY! #EXTERNAL! #PYTHON! #TIMEOUT! #ERROR! #NV #BEZUG! #WERT! #ZAHL! #ÜBERLAUF! #KALK! #FELD! #VALEUR! #NOM?
    #NOMBRE! #NUL! #PROPAGATION! #CHAMP! #N/D #N/D! #RIF! #VALORE! #NOME? #NULLO! #VALOR! #NÚM! #NULO! #¡REF! #¡VALOR!
    #¿NOMBRE? #¡DIV/0! #¡NUM! #¡NULO! #N/B #VERW! #WAARDE! #NAAM? #GETAL! #LEEG! #DEEL/0! #ADR! #ARG! #NAZWA?
    #DZIEL/0! #LICZBA! #ZERO! #SAKNAS! #REFERENS! #VÄRDEFEL! #NAMN? #DIVISION/0! #OGILTIGT! #SKÄRNING!
"""
_ERRORS = frozenset(_WRITTEN.split())
_LIBREOFFICE = re.compile(r"Err:5\d\d")
_ISO_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")
_SPECIAL = frozenset({FORMULA, FORMULA_OF_ZERO, BINARY})


def is_error(text: str) -> bool:
    return text in _ERRORS or _LIBREOFFICE.fullmatch(text) is not None


def cells_without_value(cells: Sequence[str], joined: str) -> dict[int, str]:
    """Return the positions of cells that hold no value, with what they show; `joined` is the text of all of them."""
    if "#" not in joined and "Err:" not in joined:  # as in nearly every row of a million
        return {}
    without_value: dict[int, str] = {}
    for index, cell in enumerate(cells):
        shown = cell.strip()
        if shown in _SPECIAL or is_error(shown):
            without_value[index] = shown
    return without_value


def value_of(cell: str) -> str:
    """Return the value of a cell, empty if it has none; a 0 that may have been worked out is one."""
    shown = cell.strip()
    if shown == FORMULA_OF_ZERO:
        return "0"
    if shown in _SPECIAL or is_error(shown):
        return ""
    return cell


def cell_text(value: object) -> str:
    """Return the one text of a value, whatever format it comes from: a whole number has no point, NaN is empty."""
    text = "" if value is None else str(value)
    match value:
        case bytes():
            text = value.decode("utf-8", "surrogateescape")
        case bool():
            text = text.lower()
        case float() | Decimal():
            text = _number_text(value)
        case datetime() if value.time() == time() and value.tzinfo is None:
            text = value.date().isoformat()
        case datetime():
            text = value.isoformat()
        case timedelta():
            text = duration_text(value)
        case list() | dict():
            text = json.dumps(value, ensure_ascii=False, default=cell_text)
    return text


def _number_text(value: float | Decimal) -> str:
    if isnan(value):
        return ""
    if not isfinite(value):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value == int(value) else str(value)
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text


def duration_text(value: timedelta, months: int = 0) -> str:
    """Write a duration as a clock does, `00:03:25`; hours go on counting after a day."""
    sign = "-" if value < timedelta() else ""
    size = abs(value)
    minutes, seconds = divmod(size.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    hours += size.days * 24
    rest = time(minute=minutes, second=seconds, microsecond=size.microseconds).isoformat()
    text = f"{sign}{hours:02}:{rest.removeprefix('00:')}"
    if months:
        return f"{counted(months, 'month')} {text}"
    return text


def date_text(text: str) -> str:
    """Return the text of a date that a format of values keeps as ISO text; any other text as it is."""
    if not _ISO_TIME.fullmatch(text):
        return text
    try:
        return cell_text(datetime.fromisoformat(text))
    except ValueError:
        return text


def binary_text(value: bytes | None) -> str:
    """Return bytes that are printable text as text: some writers have no other kind of it."""
    try:
        text = "" if value is None else value.decode()
    except UnicodeDecodeError:
        return BINARY
    return text if text.isprintable() else BINARY
