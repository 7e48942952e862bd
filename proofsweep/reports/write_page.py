"""Put a page in its place in a local folder or a bucket, whole."""

from contextlib import suppress
from pathlib import Path

from proofsweep.config.locations import is_bucket
from proofsweep.domain.errors import ResultsError, UsageError
from proofsweep.domain.text import printable
from proofsweep.store.store import open_store

_BEGINNING = b"<!doctype html>"


def write_page(place: str, page: str) -> int:
    """Put a page in its place, whole; return its bytes. UsageError if a file that is no page is there; it stays."""
    content = page.encode()
    if is_bucket(place):
        _put(place, content)
    else:
        _write(Path(place), content)
    return len(content)


def _put(url: str, content: bytes) -> None:
    folder, _, name = url.rpartition("/")
    if not name or folder.endswith(("/", ":")):
        raise UsageError(f"{printable(url)} names no page: give a bucket, a slash and a name such as catalog.html.")
    store = open_store(folder, "place of the report")
    _refuse_other(url, store.read(name))
    store.replace(name, content)


def _write(path: Path, content: bytes) -> None:
    scratch = path.with_name(f".{path.name}.part")
    try:
        _refuse_other(str(path), path.read_bytes() if path.is_file() else None)
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_bytes(content)
        scratch.replace(path)
    except OSError as error:
        with suppress(OSError):  # what hindered the writing may hinder this too
            scratch.unlink(missing_ok=True)
        because = error.strerror or "unknown error"
        raise ResultsError(f"The report cannot be written to {printable(str(path))} ({because}).") from error


def _refuse_other(place: str, present: bytes | None) -> None:
    if present is not None and not present.startswith(_BEGINNING):
        raise UsageError(f"{printable(place)} is no page and is not replaced. Name another with --file.")
