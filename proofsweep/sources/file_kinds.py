"""What a file is that cannot be read as a list, in words that say what its owner does with it."""

import codecs
import posixpath
import re
from functools import partial
from io import BufferedIOBase
from typing import IO
from zipfile import BadZipFile, ZipFile

_START_BYTES = 512
_PIECE_BYTES = 1024 * 1024
_SAVE = "open it in its program, and save it as .xlsx or CSV"
_UNPACK = "unpack it, and give the list or the folder that it holds"
_OLD = f"an Excel workbook of the old kind (.xls): {_SAVE}"
_LOCKED = "an Excel workbook with a password: save it as .xlsx without one"
_BINARY = f"a binary Excel workbook (.xlsb): {_SAVE}"
_OPEN_DOCUMENT = f"a table of LibreOffice (.ods): {_SAVE}"
_NUMBERS = f"a table of Apple Numbers: {_SAVE}"

_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
_ZIP = b"PK\x03\x04"
# Names in the directory of a compound file.
_LOCKED_PART = "EncryptedPackage".encode("utf-16-le")
_OLD_PARTS = ("Workbook".encode("utf-16-le"), "Book\0".encode("utf-16-le"))
_WEB_PAGE = f"a web page: if it shows a table, {_SAVE}; if not, ask for the list again"
_PDF = "a PDF document: ask for the list as .xlsx or CSV"
_BY_MARK = {
    b"PAR1": "Parquet: let its name end in .parquet",
    b"%PDF-": _PDF,
    b"\xfd7zXZ\0": "packed with xz: unpack it, or pack it with gzip",
    b"BZh": "packed with bzip2: unpack it, or pack it with gzip",
    b"(\xb5/\xfd": "packed with zstd: unpack it, or pack it with gzip",
    b"{\\rtf": "a text document (RTF): ask for the list as .xlsx or CSV",
    b"<!doctype html": _WEB_PAGE,
    b"<html": _WEB_PAGE,
}
_BY_PARTS = {
    _BINARY: re.compile(r"xl/workbook\.bin$"),
    _NUMBERS: re.compile(r".*\.iwa$"),
    "an Excel workbook: let its name end in .xlsx": re.compile("xl/"),
    "a text document (Word): ask for the list as .xlsx or CSV": re.compile("word/"),
}
_BY_ENDING = {
    ".xls": _OLD,
    ".xlsb": _BINARY,
    ".ods": _OPEN_DOCUMENT,
    ".numbers": _NUMBERS,
    ".json": "JSON: write one object a line, and let its name end in .jsonl",
    ".xml": "XML, and no message of a DDEX release: give such a message, its folder, or a list as .xlsx or CSV",
    ".pdf": _PDF,
    ".zip": f"a ZIP archive: {_UNPACK}",
}


def words_for(file: IO[bytes] | BufferedIOBase, own: str = "") -> str | None:
    """Return what a file is by its content, and what to do; it stands at its start then.

    None if that shows nothing, or the kind of `own`, its ending.
    """
    start = file.read(_START_BYTES)
    file.seek(0)
    try:
        if start.startswith(_OLE):
            words: str | None = _words_for_compound(file)
        elif start.startswith(_ZIP):
            words = _words_for_archive(file, is_unknown_fine=own == ".xlsx")
        else:
            words = _words_for_start(start)
    finally:
        file.seek(0)
    # Its name has the ending that the words ask for.
    if own and words is not None and words.endswith(f"end in {own}"):
        return None
    return words


def words_for_ending(path: str) -> str | None:
    """Return what a file is by its name."""
    _, ending = posixpath.splitext(path.lower())
    return _BY_ENDING.get(ending)


def _words_for_start(start: bytes) -> str | None:
    plain = start.removeprefix(codecs.BOM_UTF8).lstrip()
    if plain.startswith(b"<"):
        plain = plain.lower()
    for mark, words in _BY_MARK.items():
        if plain.startswith(mark):
            return words
    return None


def _words_for_compound(file: IO[bytes] | BufferedIOBase) -> str:
    # A workbook with a password and one of the old kind are both compound files, with names for their parts.
    is_old = False
    end = b""
    for piece in iter(partial(file.read, _PIECE_BYTES), b""):
        content = end + piece
        if _LOCKED_PART in content:
            return _LOCKED
        is_old = is_old or any(part in content for part in _OLD_PARTS)
        end = content[-len(_LOCKED_PART) :]
    if is_old:
        return _OLD
    return "an Excel workbook of the old kind (.xls), or one with a password: save it as .xlsx, without a password"


def _words_for_archive(file: IO[bytes] | BufferedIOBase, *, is_unknown_fine: bool) -> str | None:
    kind = b""
    try:
        with ZipFile(file) as archive:
            names = archive.namelist()
            if "mimetype" in names:
                with archive.open("mimetype") as part:
                    kind = part.read(_START_BYTES)
    except (BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError):
        return None  # the reader of workbooks says more
    if kind.startswith(b"application/vnd.oasis.opendocument"):
        return _OPEN_DOCUMENT
    for words, pattern in _BY_PARTS.items():
        if any(map(pattern.match, names)):
            return words
    return None if is_unknown_fine else f"a ZIP archive: {_UNPACK}"
