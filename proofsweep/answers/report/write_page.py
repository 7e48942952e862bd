"""Put a page in its place in a local folder, whole."""

from contextlib import suppress
from pathlib import Path

from proofsweep.errors import ResultsError, UsageError
from proofsweep.text import printable

_BEGINNING = b"<!doctype html>"


def write_page(path: Path, page: str) -> None:
    """Put a page in its place, whole; a page that is there is replaced, since all of it is derived.

    UsageError if another file is there; it stays. ResultsError if it cannot be written.
    """
    scratch = path.with_name(f".{path.name}.part")
    try:
        _refuse_other_file(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_text(page, encoding="utf-8")
        scratch.replace(path)
    except OSError as error:
        with suppress(OSError):  # what hindered the writing may hinder this too
            scratch.unlink(missing_ok=True)
        because = error.strerror or "unknown error"
        raise ResultsError(f"The report cannot be written to {printable(str(path))} ({because}).") from error


def _refuse_other_file(path: Path) -> None:
    if not path.is_file():
        return
    with path.open("rb") as file:
        if file.read(len(_BEGINNING)) != _BEGINNING:
            raise UsageError(f"{printable(str(path))} is no page and is not replaced. Name another with --file.")
