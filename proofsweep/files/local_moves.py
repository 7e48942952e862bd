"""Place files on this machine where none is, and take files away only while they are what they were."""

import errno
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from proofsweep.durable import make_folder, sync_file, sync_folder
from proofsweep.errors import NameTaken, SourceError
from proofsweep.files.local_files import LocalFiles
from proofsweep.model.items import FileFacts
from proofsweep.model.reasons import Reason

_ASIDE = ".proofsweep-moving-"  # Begins the name of a hidden folder, into which a file is renamed before it is deleted

_DRAFT = ".proofsweep-draft-"


class LocalMoves:
    """Creates and removes files of this machine; what is created survives a power cut."""

    def create(self, location: str, pieces: Iterable[bytes], sha256: str) -> None:
        """Make a file of exactly these bytes, whole at once; NameTaken, or SourceError if they have another digest."""
        path = Path(location)
        with _wrapped_errors():
            make_folder(path.parent)
            draft = _draft_of(path)
            try:
                if _write(draft, pieces) != sha256:
                    raise SourceError("The file is not the one that was verified.", reason=Reason.SOURCE_CHANGED)
                path.hardlink_to(draft)
                sync_folder(path.parent)
            except FileExistsError as error:
                raise NameTaken("There is a file of that name.") from error
            finally:
                draft.unlink(missing_ok=True)

    def clear(self, location: str) -> None:
        """Delete the draft of a killed copy to this name; give the name back to a copy that was being deleted."""
        path = Path(location)
        with _wrapped_errors():
            _draft_of(path).unlink(missing_ok=True)
            if _aside_of(path).parent.is_dir():
                _restore(_aside_of(path).parent)

    def remove(self, location: str, facts: FileFacts) -> bool:
        """Remove a file with these facts; say whether it is gone. A file that was replaced meanwhile stays.

        Between a look at a name and its deletion, a producer may give the name to another file. So the file is renamed
        first: what is then deleted is what was looked at.
        """
        path = Path(location)
        aside = _aside_of(path)
        with _wrapped_errors():
            if path.is_symlink():
                raise SourceError("It is a link, and links are not moved.", reason=Reason.UNREADABLE_FILE)
            aside.parent.mkdir(exist_ok=True)
            try:
                path.rename(aside)
            except FileNotFoundError:
                return True
            finally:
                with suppress(OSError):
                    aside.parent.rmdir()  # if nothing was renamed into it
            is_same = LocalFiles().facts(str(aside)) == facts
            if is_same:
                aside.unlink()
                sync_folder(path.parent)
            else:
                _put_back(aside, path)
            with suppress(OSError):
                aside.parent.rmdir()
        return is_same

    def put_back(self, folder: str) -> None:
        """Restore the names of files that a killed process had renamed in a folder or below it."""
        for path, folders, _ in os.walk(folder):
            for aside in (Path(path, name) for name in folders if name.startswith(_ASIDE)):
                with _wrapped_errors():
                    _restore(aside)
            folders[:] = [name for name in folders if not name.startswith(".")]


def _restore(aside: Path) -> None:
    for each in aside.iterdir():
        _put_back(each, aside.parent / each.name)
    aside.rmdir()


def _aside_of(path: Path) -> Path:
    """Name the file in a hidden folder, as which a file is deleted."""
    return path.parent / f"{_ASIDE}{_digits_of(path)}" / path.name


def _draft_of(path: Path) -> Path:
    """Name the hidden file in which a copy is written: the same each time, so that none is left behind."""
    return path.parent / f"{_DRAFT}{_digits_of(path)}"


def _digits_of(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:24]


def _put_back(aside: Path, path: Path) -> None:
    """Rename a file back, unless its producer has put another one there, as it would have replaced this one."""
    with suppress(FileExistsError):
        path.hardlink_to(aside)
    aside.unlink()


def _write(draft: Path, pieces: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    with draft.open("xb") as file:
        for piece in pieces:
            digest.update(piece)
            file.write(piece)
        sync_file(file)
    return digest.hexdigest()


@contextmanager
def _wrapped_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        because = error.strerror or "unknown error"
        if error.errno in {errno.EPERM, errno.ENOTSUP}:
            because += ", or its file system has no hard links"
        raise SourceError(f"The file cannot be moved: {because}.", reason=Reason.UNREADABLE_FILE) from error
