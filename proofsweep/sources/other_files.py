"""Files that people take for manifests: what they are, by their first bytes or their names, and what to do. Pure."""

import posixpath

HEADER_BYTES = 4096
"""So many bytes at the start of a file show what it is, and the header of a list."""

_TABLE = "save it as .xlsx or CSV"
_ARCHIVE = "unpack it, and give the manifest or the folder that it holds"
_BY_MARK = {
    b"PK\x03\x04": f"a ZIP archive or an Excel workbook: {_ARCHIVE}; let a workbook's name end in .xlsx",
    b"\xd0\xcf\x11\xe0": f"an Excel workbook of the old kind (xls), or one with a password: {_TABLE}, without one",
    b"\xfd7zXZ\0": "packed with xz: unpack it, or pack it with gzip",
    b"\x28\xb5\x2f\xfd": "packed with zstd: unpack it, or pack it with gzip",
    b"BZh": "packed with bzip2: unpack it, or pack it with gzip",
    b"7z\xbc\xaf\x27\x1c": f"a 7z archive: {_ARCHIVE}",
    b"Rar!\x1a\x07": f"a RAR archive: {_ARCHIVE}",
    b"%PDF-": "a PDF document: ask for the list as .xlsx or CSV",
    b"{\\rtf": f"a text document (RTF): {_TABLE}",
    b"PAR1": "Parquet: let its name end in .parquet",
}
_BY_ENDING = {
    ".ods": f"a table of LibreOffice: {_TABLE}",
    ".numbers": f"a table of Numbers: {_TABLE}",
    ".xlsb": f"a binary Excel workbook: {_TABLE}",
    ".docx": f"a Word document: {_TABLE}",
    ".tar": f"an archive: {_ARCHIVE}",
    ".json": "JSON: write one object a line, and let its name end in .jsonl",
    ".xml": f"XML: {_TABLE}",
}


def words_for(start: bytes, name: str = "") -> str | None:
    """Return what a file is that is no manifest, and what to do; None if nothing shows it."""
    ending = posixpath.splitext(name.lower())[1]
    by_mark = next((words for mark, words in _BY_MARK.items() if start.startswith(mark)), None)
    return _BY_ENDING.get(ending) or by_mark


def is_list(start: bytes, name: str) -> bool:
    """Whether a file may be a list: of text without a delimiter in its first line, only a column of audio is one."""
    header = start.lstrip().partition(b"\n")[0].strip().lower()
    is_plain = posixpath.splitext(name.lower())[1] == ".txt"
    return not is_plain or header in {b"audio", b"path"} or any(delimiter in header for delimiter in b",;\t")
