"""Move one file: copy it where none is, read the copy back, and only then remove the file."""

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from proofsweep.config.locations import make_folder, one_line, share_with_folder, sync_file, sync_folder
from proofsweep.domain.errors import NameTaken, SourceError
from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Reason
from proofsweep.files.audio import PIECE_BYTES
from proofsweep.files.files import Files, kind_of
from proofsweep.files.local_files import NOTHING_THERE, Awaited, walk
from proofsweep.files.names import is_hidden_name

if TYPE_CHECKING:
    from proofsweep.files.bucket_files import BucketFiles

_ASIDE = ".proofsweep-removing-"  # stands before the name of a file that is about to be deleted
_ASIDE_FOLDER = ".proofsweep-moving-"  # begins the name of a hidden folder, for a file whose name is too long for that
_DRAFT = ".proofsweep-draft-"
_OPENING_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Copy(NamedTuple):
    source: FileFacts | None  # as it was read; None if the source is gone or is another file by now
    disk: int | None  # on which the folder of the copy lay; None for a bucket


class Moves:
    def __init__(self, files: Files) -> None:
        self._files = files

    def copy(self, source: str, target: str, sha256: str) -> Copy:
        """Copy a file with this digest to a name that is free or has these bytes already, and read the copy back.

        Between folders, the copy has the rights of the source, and a new folder those of the source's folder as far as
        the umask leaves them: what is private stays so. Beyond that, as in a results store, both are given to those who
        use the folder that they lie in, where its group can write or root makes them, and to nobody else.

        A copy that somebody takes away at once was made. NameTaken if the target is another file; SourceError if
        neither source nor target is that file, or one of the two cannot be read or written.
        """
        names = self._names_at(target)
        names.clear(target)
        names.clear_draft(source, target)
        disk = names.disk(target)
        held, facts = self.held(target), None
        if held is None:
            try:
                facts, disk = self._create(source, target, sha256)
                held = self.digest(target)
            except NameTaken:  # perhaps by this copy, if the answer to its creation was lost
                held = self.digest(target)
                if held is None:
                    raise
        if held not in {None, sha256}:
            raise NameTaken("There is another file of that name.")
        return Copy(facts or self._facts_of(source, sha256), disk)

    def remove(self, source: str, facts: FileFacts) -> bool:
        """Remove a file with these facts. Return whether it is gone; one that was replaced meanwhile stays."""
        return self._names_at(source).remove(source, facts)

    def disk(self, target: str) -> int | None:
        """Return the disk on which the folder of a target lies, or would lie; None for a bucket."""
        return self._names_at(target).disk(target)

    def discard(self, source: str, copy: str, sha256: str) -> None:
        """Delete the copy of a source, if it has these bytes, and what a killed process has written of it."""
        self._names_at(copy).clear_draft(source, copy)
        self.clear(copy)
        facts = self._facts_of(copy, sha256)
        if facts is not None:
            self.remove(copy, facts)

    def clear(self, target: str) -> None:
        """Give the name back to a copy that was being deleted when its process was killed."""
        self._names_at(target).clear(target)

    def is_link(self, source: str) -> bool:
        """Whether there is a link: it would be copied, and could not be removed."""
        return self._names_at(source).is_link(source)

    def put_back(self, folder: str) -> dict[str, str]:
        """Restore the names of files that a killed process had renamed in a folder or below it.

        Return the hidden names for which this was not possible, each with the reason in a sentence.
        """
        return self._names_at(folder).put_back(folder)

    def files_below(self, folder: str) -> dict[str, FileFacts | None]:
        """Return the facts of all files in a folder and below it, but of none whose name begins with a dot.

        Those of a link that leads nowhere are None.

        SourceError if one of the folders cannot be listed, or is a link.
        """
        facts_of: dict[str, FileFacts | None] = {}
        for walked in self._files.walk(folder):
            if walked.refused is not None:
                raise SourceError(walked.refused.detail, reason=walked.refused.reason)
            if self.is_link(walked.location):
                raise SourceError("A folder in it is a link, and links are not moved.", reason=Reason.UNREADABLE_FILE)
            path = walked.location.rstrip("/")
            for name in walked.files:
                location = f"{path}/{name}"
                facts_of[location] = walked.known.get(name) or self.facts(location)
        return facts_of

    def facts(self, location: str) -> FileFacts | None:
        return self._files.facts(location)

    def remove_empty(self, folder: str) -> None:
        self._names_at(folder).remove_empty(folder)

    def digest(self, location: str) -> str | None:
        """Read a whole file, and return its hex SHA-256; None if there is no file."""
        _, digest = self._read(location)
        return digest

    def held(self, target: str) -> str | None:
        """Return the digest of the file that has a name, or None if the name may be free."""
        try:
            return self.digest(target)
        except SourceError as error:
            # Creating it is refused if it is there after all.
            if self._names_at(target).may_be_free(error):
                return None
            raise

    def _facts_of(self, location: str, sha256: str) -> FileFacts | None:
        facts, digest = self._read(location)
        return facts if digest == sha256 else None

    def _read(self, location: str) -> tuple[FileFacts | None, str | None]:
        with self._files.open(location, is_whole=True) or nullcontext() as file:
            if file is None:
                return None, None
            facts = file.facts()
            digest = hashlib.file_digest(file, "sha256")
            return facts, digest.hexdigest()

    def _create(self, source: str, target: str, sha256: str) -> tuple[FileFacts, int | None]:
        with self._files.open(source, is_whole=True) or nullcontext() as file:
            if file is None:
                raise SourceError("The file is no longer there.", reason=Reason.MISSING_AUDIO)
            facts = file.facts()
            rights = _rights_of(source)
            names = self._names_at(target)
            disk = names.disk(target)
            names.create(source, target, file.pieces(PIECE_BYTES), sha256, rights)
            # While the share is away, a copy lies below its mount point.
            if names.disk(target) != disk:
                raise SourceError("A share went or came during the copy.", reason=Reason.SOURCE_UNAVAILABLE)
            return facts, disk

    def _names_at(self, location: str) -> "_Names":
        if kind_of(location).has_folders:
            return _LocalNames()
        return _ObjectNames(self._files.buckets)


@dataclass(frozen=True, slots=True)
class _Rights:
    """Who may use a file and its folder; where nobody says it, as in a bucket, that is for the umask."""

    file: int | None = None
    folder: int = 0o777


class _Names(Protocol):
    """What a kind of files does with their names; `Moves` says what each does."""

    def create(self, source: str, target: str, pieces: Iterable[bytes], sha256: str, rights: _Rights) -> None: ...
    def remove(self, source: str, facts: FileFacts) -> bool: ...
    def clear(self, target: str) -> None: ...
    def clear_draft(self, source: str, target: str) -> None: ...
    def disk(self, target: str) -> int | None: ...
    def is_link(self, source: str) -> bool: ...
    def put_back(self, folder: str) -> dict[str, str]: ...
    def remove_empty(self, folder: str) -> None: ...
    def may_be_free(self, error: SourceError) -> bool: ...


class _ObjectNames:
    """An object appears whole or not at all, and is never renamed: so no draft, no link and no folder is left."""

    def __init__(self, buckets: "BucketFiles") -> None:
        self._buckets = buckets
        self.remove = buckets.remove

    def create(self, source: str, target: str, pieces: Iterable[bytes], sha256: str, rights: _Rights) -> None:
        del source, rights  # a bucket has its own
        self._buckets.create(target, pieces, sha256)

    def clear(self, target: str) -> None:
        pass

    def clear_draft(self, source: str, target: str) -> None:
        pass

    def disk(self, target: str) -> int | None:
        del target
        return None

    def is_link(self, source: str) -> bool:
        del source
        return False

    def put_back(self, folder: str) -> dict[str, str]:
        del folder
        return {}

    def remove_empty(self, folder: str) -> None:
        pass

    def may_be_free(self, error: SourceError) -> bool:
        # Without the right to list, S3 calls a key that is not there forbidden.
        return error.reason == Reason.SOURCE_FORBIDDEN


class _LocalNames:
    def create(self, source: str, target: str, pieces: Iterable[bytes], sha256: str, rights: _Rights) -> None:
        _create_file(Path(target), _draft_of(source, target), pieces, sha256, rights)

    def remove(self, source: str, facts: FileFacts) -> bool:
        path = Path(source)
        with _wrapped_errors(path):
            if path.is_symlink():
                raise SourceError("It is a link, and links are not moved.", reason=Reason.UNREADABLE_FILE)
            # Between a look at a name and its deletion, a producer may give the name to another file. So the file is
            # renamed first: what is then deleted is what was looked at.
            with _free_aside(path) as aside:
                try:
                    path.rename(aside)
                except FileNotFoundError:
                    return True
                is_same = Files().facts(str(aside)) == facts
                if is_same:
                    aside.unlink()
                    sync_folder(path.parent)
                else:
                    _put_back(aside, path)
        return is_same

    def clear(self, target: str) -> None:
        path = Path(target)
        with _wrapped_errors(path):
            _restore(_aside_of(path))
            _restore_all(_aside_folder_of(path))

    def clear_draft(self, source: str, target: str) -> None:
        with _wrapped_errors(Path(target)):
            _draft_of(source, target).unlink(missing_ok=True)

    def disk(self, target: str) -> int | None:
        folder = Path(target).parent
        with _wrapped_errors(folder):
            while _kind(folder) is None:
                folder = folder.parent
            return folder.stat().st_dev

    def is_link(self, source: str) -> bool:
        with suppress(OSError), Awaited(source):
            return Path(source).is_symlink()
        return False

    def put_back(self, folder: str) -> dict[str, str]:
        failed: dict[str, str] = {}
        for path, folders, names in walk(folder):
            for name in [*folders, *names]:
                if not name.startswith((_ASIDE, _ASIDE_FOLDER)):
                    continue
                aside = Path(path, name)
                restore = _restore if name.startswith(_ASIDE) else _restore_all
                try:
                    with _wrapped_errors(aside):
                        restore(aside)
                except SourceError as error:
                    where = one_line(str(aside))
                    failed[str(aside)] = f"{error.message} It lies in {where}."
            folders[:] = [name for name in folders if not is_hidden_name(name)]
        return failed

    def remove_empty(self, folder: str) -> None:
        # The deepest first, and one that holds something stays, with all above it.
        for path, _, _ in reversed([*walk(folder)]):
            with suppress(OSError):
                Path(path).rmdir()

    def may_be_free(self, error: SourceError) -> bool:
        del error
        return False


def _rights_of(source: str) -> _Rights:
    if not kind_of(source).has_folders:
        return _Rights()
    path = Path(source)
    with _wrapped_errors(path):
        try:
            file, folder = path.stat().st_mode, path.parent.stat().st_mode
        except FileNotFoundError as error:
            raise SourceError("The file is no longer there.", reason=Reason.MISSING_AUDIO) from error
    # Our own process reads the copy back, and makes files in the folder.
    return _Rights(file & 0o777 | stat.S_IRUSR, folder & 0o777 | stat.S_IRWXU)


def _create_file(path: Path, draft: Path, pieces: Iterable[bytes], sha256: str, rights: _Rights) -> None:
    """Make a file of exactly these bytes, whole at once, that survives a power cut.

    NameTaken if there is one of that name, or SourceError if the bytes have another digest.
    """
    with _wrapped_errors(path):
        for made in make_folder(path.parent, rights.folder):
            share_with_folder(made)
        try:
            if _write(draft, pieces, rights.file) != sha256:
                raise SourceError("The file is not the one that was verified.", reason=Reason.SOURCE_CHANGED)
            share_with_folder(draft)
            path.hardlink_to(draft)
            sync_folder(path.parent)
        except FileExistsError as error:
            raise NameTaken("There is a file of that name.") from error
        finally:
            draft.unlink(missing_ok=True)


@contextmanager
def _free_aside(path: Path) -> Iterator[Path]:
    """Give a free hidden name for a file: beside it, or in a hidden folder if it is too long for that.

    SourceError if something has that name.
    """
    # A rename within a folder follows no link, and needs no space on a full disk. A new folder does.
    aside = _aside_of(path)
    try:
        aside.lstat()
    except FileNotFoundError:
        yield aside
        return
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
    else:
        raise _taken(aside)
    folder = _aside_folder_of(path)
    try:
        folder.mkdir()
    except FileExistsError as error:
        raise _taken(folder) from error
    try:
        with _opened_folder(folder) as opened:
            yield opened / path.name
    finally:
        with suppress(OSError):
            folder.rmdir()  # if nothing is left in it


@contextmanager
def _opened_folder(folder: Path) -> Iterator[Path]:
    """Give a path that leads to this very folder; OSError if it is a link."""
    # The owner of the folder above may put a link in its place at any time, and files elsewhere would be renamed.
    handle = os.open(folder, _OPENING_FOLDER)
    try:
        opened = Path(f"/proc/self/fd/{handle}")
        yield opened if opened.exists() else folder  # macOS has no such paths
    finally:
        os.close(handle)


def _restore(aside: Path) -> None:
    """Give a file that was renamed its name back; a link is not ours, and stays."""
    name = aside.name.removeprefix(_ASIDE)
    if name not in {"", ".", ".."} and _kind(aside) not in {None, stat.S_IFLNK}:
        _put_back(aside, aside.parent / name)


def _restore_all(folder: Path) -> None:
    """Give the files in a hidden folder their names back; a link is not ours, and stays."""
    if _kind(folder) != stat.S_IFDIR:
        return
    with _opened_folder(folder) as opened:
        for file in [*opened.iterdir()]:
            _put_back(file, folder.parent / file.name)
    folder.rmdir()


def _kind(path: Path) -> int | None:
    """Return what has a name, as `stat` says it; None if nothing has it, or nothing can."""
    try:
        return stat.S_IFMT(path.lstat().st_mode)
    except OSError as error:
        if error.errno in NOTHING_THERE:
            return None
        raise


def _taken(aside: Path) -> SourceError:
    message = f"It cannot be removed: something else has the name {one_line(aside.name)} beside it."
    return SourceError(message, reason=Reason.UNREADABLE_FILE)


def _aside_of(path: Path) -> Path:
    return path.parent / f"{_ASIDE}{path.name}"


def _aside_folder_of(path: Path) -> Path:
    return path.parent / f"{_ASIDE_FOLDER}{_digits_of(str(path))}"


def _draft_of(source: str, target: str) -> Path:
    # The same name each time: so the draft of a copy that was killed is found, and none is left behind. Two watched
    # folders may have one target, and files of one name: each has its own draft.
    return Path(target).parent / f"{_DRAFT}{_digits_of(source, target)}"


def _digits_of(*locations: str) -> str:
    content = b"\0".join(map(os.fsencode, locations))
    return hashlib.sha256(content).hexdigest()[:24]


def _put_back(aside: Path, path: Path) -> None:
    # If the producer has put another file there meanwhile, it would have replaced this one: that one stays.
    try:
        path.hardlink_to(aside)
    except FileExistsError:
        aside.unlink()
    except OSError:  # the file system gives no hard links, or this is a folder
        # A renamed file takes the place of another one, so the name is looked at first.
        if not aside.is_dir() and os.path.lexists(path):
            aside.unlink()
        else:
            aside.rename(path)
    else:
        aside.unlink()


def _write(draft: Path, pieces: Iterable[bytes], rights: int | None) -> str:
    digest = hashlib.sha256()
    # Nobody else reads a private file while it is copied.
    draft.touch(0o666 if rights is None else 0o600, exist_ok=False)
    with draft.open("r+b") as file:
        for piece in pieces:
            digest.update(piece)
            file.write(piece)
        if rights is not None:
            with suppress(OSError):  # a file system without rights
                os.fchmod(file.fileno(), rights)
        sync_file(file)
    return digest.hexdigest()


@contextmanager
def _wrapped_errors(path: Path) -> Iterator[None]:
    try:
        with Awaited(str(path)):
            yield
    except OSError as error:
        because = error.strerror or "unknown error"
        if error.errno in {errno.EPERM, errno.ENOTSUP}:
            because += ", or its file system has no hard links"
        raise SourceError(f"The file cannot be moved: {because}.", reason=Reason.UNREADABLE_FILE) from error
