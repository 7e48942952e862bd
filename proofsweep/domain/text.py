"""Text that others wrote, made safe to show: no file name or answer can forge a line or steer a terminal. Pure.

What a catalog or the partner sends is stored as it is, and passes through here where a person reads it: on a terminal,
in a log, in an error, in Prefect. A character that is not seen, or that moves what is seen, is written as an escape.
"""

import codecs
import json
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from decimal import Decimal
from difflib import get_close_matches
from functools import partial
from math import isfinite
from unicodedata import category

# Control and format characters (the overrides of writing direction are such), surrogates, separators of lines.
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_NO_LETTERS = "\ufffe\uffff"  # XML, and so a workbook, cannot hold them

# Persian and the scripts of India need these two to be spelled, and emoji are joined with the second.
_JOINERS = "\u200c\u200d"
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#|!~$&])")
# Text that begins so is a formula to a spreadsheet; the wide forms are for those of East Asia. One that cuts cells at
# semicolons, bars or tabs finds beginnings inside of our cells.
_BEGINNING = r"(^|[;|\t\r\n])"
_FORMULA = r"(?=[\"']*[=+\-@\t\r\n＝＋－＠])"  # noqa: RUF001 - these letters are meant
_UNSAFE = re.compile(f"{_BEGINNING}{_FORMULA}")
# What stands before the host of a URL: of http anything, of others a name with a password.
_LOGIN = re.compile(r"(https?://)[^\s@/]*@|(\w+://)[^\s@/:]*:[^\s@/]*@")

ALIKE = 0.8  # how alike two names are at least, as difflib counts from 0 to 1

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def marked_codec(start: bytes) -> str | None:
    """Return the codec that a byte order mark shows, or the NULs of UTF-16; None without either."""
    for mark, codec in _MARKS.items():
        if start.startswith(mark):
            return codec
    # Without a mark: the first letters of a file are mostly ASCII, and UTF-16 has a NUL in each of these.
    if b"\0" not in start[:4]:
        return None
    return "utf-16-be" if start.startswith(b"\0") else "utf-16-le"


def text_of_file(content: bytes, errors: str = "strict") -> str:
    """Decode a file that a person has written: UTF-8, or UTF-16 or UTF-32 as PowerShell and Notepad write it."""
    codec = marked_codec(content) or "utf-8"
    return content.decode(codec, errors)


def printable(text: str) -> str:
    """Write text on one line: a character that is not seen becomes an escape, as in a Python string."""
    return _escaped(text, _as_in_python)


def printable_json(document: object, *, is_ascii: bool = False) -> str:
    """Write one JSON object on one line. Its reader gets every character back, and null for NaN and infinity.

    With `is_ascii`, each letter outside ASCII is an escape, for a reader that may not take UTF-8.
    """
    try:
        text = json.dumps(document, ensure_ascii=is_ascii, default=_plain, allow_nan=False)
    except ValueError:  # NaN or Infinity, which JSON does not know
        text = json.dumps(_without_infinity(document), ensure_ascii=is_ascii, default=_plain, allow_nan=False)
    return _escaped(text, _as_in_json)


def markdown(text: str) -> str:
    """Write text on one line of Markdown, or in a cell of a table, so that it is shown as it is."""
    return _MARKDOWN.sub(r"\\\1", printable(text))


def counted(count: int, noun: str) -> str:
    if count != 1:
        noun = f"{noun}s"
    return f"{count:,} {noun}"


def remaining_words(remaining: int, rows: int) -> str:
    verb = "remains" if remaining == 1 else "remain"
    return f"{remaining:,} of {counted(rows, 'row')} {verb}"


def minute_of(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M} UTC"


def duration_text(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    if minutes:
        return f"{minutes} min {rest:02} s"
    return f"{rest} s"


def reset_clause(reset: datetime | None, now: datetime) -> str:
    """Return in a clause when the quota resets; a time in the past says nothing."""
    if reset is None or reset <= now:
        return "its reset time is not known"
    return f"it resets {minute_of(reset)}"


def _plain(value: object) -> object:
    match value:
        case datetime():
            return value.isoformat()
        case Decimal():
            return float(value)
    return str(value)


def _without_infinity(value: object) -> object:
    match value:
        case float() | Decimal():
            return value if isfinite(value) else None
        case dict():
            return {key: _without_infinity(member) for key, member in value.items()}
        case list() | tuple():
            return [_without_infinity(member) for member in value]
    return value


def _escaped(text: str, escape: Callable[[str], str]) -> str:
    if text.isprintable():
        return text
    return "".join(map(partial(_escaped_letter, escape), text))


def _escaped_letter(escape: Callable[[str], str], char: str) -> str:
    return escape(char) if _is_unseen(char) else char


def _is_unseen(char: str) -> bool:
    if char in _JOINERS:
        return False
    return category(char) in _UNSEEN or char in _NO_LETTERS


def _as_in_python(char: str) -> str:
    return char.encode("unicode_escape").decode()


def _as_in_json(char: str) -> str:
    quoted = json.dumps(char)
    return quoted[1:-1]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    alike = get_close_matches(name, known, 1, ALIKE)
    if not alike:
        return ""
    return f" (did you mean {alike[0]}?)"


def shown_value(value: object) -> str:
    """Write a value as in a table or a file of CSV: nothing for None, JSON for a list or an object."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case datetime():
            return value.isoformat(timespec="seconds")
        case Decimal():
            return format(value, "f")
        case dict() | list():
            return printable_json(value)
    return str(value)


def csv_cell(value: object) -> str:
    """Write a value for a cell of a spreadsheet; a number stays one, and no text is run as a formula."""
    text = shown_value(value)
    if isinstance(value, int | float | Decimal):
        return text
    return defused(text)


def defused(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would run as a formula."""
    return _UNSAFE.sub(r"\1'", text)


def percent_of(part: int, whole: int, decimals: int = 1) -> str:
    """Write a share in percent, rounded. 100 means all, and 0 means none."""
    if part == 0:
        return f"{0:.{decimals}f}"
    if part == whole:
        return "100"
    # A page that says 100 closes the case, so no rounding may say it while a file is left.
    step = 10**-decimals
    share = min(max(100 * part / whole, step), 100 - step)
    return f"{share:.{decimals}f}"


def without_logins(text: str) -> str:
    """Return a text without the users and passwords of the URLs in it; Azure's `container@account` is none."""
    return _LOGIN.sub(lambda match: match[1] or match[2], text)
