"""Turn a location as a person wrote it into an absolute path or a bucket URL; and write a local file whole."""

import errno
import os
import posixpath
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO
from urllib.parse import SplitResult, quote, unquote_to_bytes, urlsplit

from proofsweep.domain.errors import CatalogError, UsageError
from proofsweep.domain.items import utf8_text
from proofsweep.domain.text import printable

BUCKET_SCHEMES = frozenset({"s3", "gs", "az", "abfs", "abfss"})
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
# The letters that some cloud allows in a bucket's name, with Azure's account and the tenant of some S3 servers.
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_BUCKET_NAME = re.compile(r"[A-Za-z0-9._:@$-]+")
_RIGHTS_OF_FOLDER, _RIGHTS_OF_FILE = 0o2770, 0o660  # that owner and group may pass on
_SAME_OWNER = -1  # as chown takes it
_PASSWORD = re.compile(r"\A[^/]*:.*@", re.DOTALL)  # that of S3 often has a slash
_SIGNED = re.compile(
    r"[?&](sig|signature|x-amz-(signature|credential|security-token)|x-goog-(signature|credential)|awsaccesskeyid)=",
    re.IGNORECASE,
)
# What file systems without hard links answer to one: FAT, some shares, and FUSE.
_UNSUPPORTED = frozenset({errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
_WITHOUT_LINKS = _UNSUPPORTED | {errno.EPERM, errno.EMLINK, errno.EACCES}
# What CIFS, FUSE and Windows drives under Linux answer to a request to make a folder durable.
_WITHOUT_FOLDER_SYNC = _UNSUPPORTED | {errno.EINVAL, errno.EBADF}


def path_of(written: str, folder: str) -> str:
    """Return the absolute path or bucket URL of a location; whether a file is there is not checked.

    Bucket URLs hold the raw key: no part of them is an escape. CatalogError if the URL is of another kind, or holds
    credentials, which the message does not repeat.
    """
    url = _SCHEME.match(written) if "://" in written else None
    if url:
        refuse_credentials(written)
        scheme, rest = url[1].lower(), written[url.end() :]
        if scheme in BUCKET_SCHEMES:
            return _bucket_url(scheme, rest)
        written = _path_in_url(written, scheme)
    elif is_bucket(folder) and not written.startswith("/"):
        return _url_below(folder, written)
    path = posixpath.join(folder, written)
    # After a link, only the system knows what `..` means, so such a path stays as it is written.
    if ".." in path and ".." in path.split("/"):
        return path
    return posixpath.normpath(path)


def path_here(written: str) -> str:
    """Return the path or URL of a location as seen from the folder of this process."""
    return path_of(written, str(Path.cwd()))


def url_of(path: str) -> str:
    """Return an absolute path or bucket URL as text that any file can hold; `path_of` reads it."""
    if is_bucket(path):
        return path
    return f"file://{quote(os.fsencode(path))}"


def resolved_location(path: str) -> str:
    """Return the one spelling of an absolute path, without links and `..`, or of a bucket URL."""
    if is_bucket(path):
        return path.rstrip("/")
    return os.path.realpath(path)


def identity_of(written: str, name: str | None = None) -> str:
    """Return what stands for a catalog or a watched folder wherever two are compared: its name, else where it is.

    That is the one spelling of a path as seen from here, or of a bucket URL; words that are no location stay.
    """
    if name:
        return name
    with suppress(CatalogError, ValueError, OSError):  # no path may hold a NUL; the working folder may be gone
        return resolved_location(utf8_text(path_here(written)))
    return written


def path_within(path: str, folder: str) -> str:
    """Return a path relative to a folder, the same on every machine; absolute if it lies outside."""
    plain = path
    if ".." in path and not is_bucket(path):
        plain = posixpath.normpath(path)
    return plain.removeprefix(_with_slash(folder))


def is_within(location: str, folder: str) -> bool:
    """Return whether a resolved path or bucket URL is a folder or prefix or lies in it; `..` in a key leads out."""
    if ".." in location and ".." in location.split("/"):
        return False
    return location == folder or location.startswith(_with_slash(folder))


def split_location(location: str) -> tuple[str, str]:
    """Split a path or URL as `posixpath.split` does, in a third of its time: a list has millions."""
    folder, _, name = location.rpartition("/")
    if not folder or folder.endswith("/"):
        return posixpath.split(location)
    return folder, name


def location_in(folder: str, name: str) -> str:
    """Return the location of a name in a folder or prefix."""
    return f"{_with_slash(folder)}{name}"


def _with_slash(folder: str) -> str:
    return folder if folder.endswith("/") else f"{folder}/"


def one_line(location: str) -> str:
    text = utf8_text(location)
    if text.isprintable():
        return text
    return "".join(map(_printable_letter, text))


def _printable_letter(letter: str) -> str:
    return letter if letter.isprintable() else repr(letter)[1:-1]


def is_windows(written: str) -> bool:
    if ":" not in written and "\\" not in written:
        return False
    return _WINDOWS.match(written) is not None


def shown(written: str, path: str) -> str:
    """Return a location for a message: its path, but a path of Windows as it is written, not joined to our folders."""
    return one_line(written if is_windows(written) else path)


def hint_for(written: str) -> str:
    if written.startswith("~"):
        return " (`~` is not expanded here: write the whole path)"
    if is_windows(written) or ("\\" in written and "/" not in written):
        return " (this looks like a Windows path: write it as this machine sees it, with `/`)"
    if written != written.strip():
        return " (it begins or ends with a space, which is part of the name)"
    return ""


def without_secrets(written: str) -> str:
    """Return what may be shown and stored of a URL that is not read: no user, no query, no fragment."""
    scheme, has_scheme, rest = written.partition("://")
    without_password = _PASSWORD.sub("", rest)
    location = re.split(r"[?#]", without_password, maxsplit=1)[0]
    authority, slash, path = location.partition("/")
    host = authority.rpartition("@")[2]
    return one_line(f"{scheme}{has_scheme}{host}{slash}{path}")


def is_bucket(location: str) -> bool:
    if location.startswith("/"):
        return False
    scheme, has_scheme, _ = location.partition("://")
    return bool(has_scheme) and scheme.lower() in BUCKET_SCHEMES


def root_and_key(url: str) -> tuple[str, str]:
    """Split a bucket URL into `s3://bucket` and the raw key, which is empty for the bucket itself."""
    scheme, _, rest = url.partition("://")
    bucket, _, key = rest.partition("/")
    return f"{scheme}://{bucket}", key


def refuse_credentials(url: str) -> None:
    """Raise CatalogError if a URL holds a password or a signature; Azure's `container@account` is neither."""
    scheme, _, rest = url.partition("://")
    authority, _, _ = rest.partition("/")
    has_user = "@" in authority and scheme.lower() not in {"abfs", "abfss"}
    if has_user or _PASSWORD.match(rest):
        holds = "the URL holds a user name or password; give credentials as docs/buckets.md says"
        raise CatalogError(f"{scheme}://…: {holds}")
    signature = _SIGNED.search(url)
    if signature:
        before = url[: signature.start()]
        location = one_line(before.partition("?")[0])
        raise CatalogError(f"{location}: the URL holds a signature; give credentials as docs/buckets.md says")


def split_url(url: str) -> SplitResult:
    """Split a URL; each part of one that cannot be split is empty."""
    # Python's message would show a part of a password with a slash.
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.port != 0:
            return parts
    return urlsplit("")


def _bucket_url(scheme: str, rest: str) -> str:
    name = rest.partition("/")[0]
    if not _BUCKET_NAME.fullmatch(name):
        what = "no bucket can have such a name" if name else "names no bucket"
        raise CatalogError(f"{scheme}://{one_line(rest)}: {what}")
    return f"{scheme}://{rest}"


def _url_below(folder: str, written: str) -> str:
    # A bucket has no links, so `.` and `..` are resolved in the text. An empty part belongs to the key.
    root, key = root_and_key(folder)
    parts = key.split("/") if key else []
    for part in written.split("/"):
        if part == "..":
            del parts[-1:]
        elif part != ".":
            parts.append(part)
    return "/".join([root, *parts])


def _path_in_url(url: str, scheme: str) -> str:
    if scheme != "file":
        kinds = ", ".join(f"{bucket_scheme}://" for bucket_scheme in sorted(BUCKET_SCHEMES))
        raise CatalogError(f"{without_secrets(url)}: {scheme} URLs are not read; give paths, file:// URLs or {kinds}")
    rest = url[len("file://") :]
    host, slash, path = rest.partition("/")
    if host not in ("", "localhost"):
        raise CatalogError(f"{one_line(url)}: names another machine, {one_line(host)}; write file:/// for this one")
    # As bytes: a path need not be UTF-8, nor what its escapes stand for.
    quoted = os.fsencode(slash + path)
    return os.fsdecode(unquote_to_bytes(quoted))


def sync_file(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: str | Path, dir_fd: int | None = None) -> None:
    """Make the names in a folder durable, as far as its file system can."""
    handle = os.open(folder, os.O_RDONLY, dir_fd=dir_fd)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _WITHOUT_FOLDER_SYNC:
            raise
    finally:
        os.close(handle)


def make_folder(folder: Path, rights: int = 0o777) -> list[Path]:
    """Make a folder and the missing ones above it, so that each survives a power cut; return those, the upper first.

    They get the `rights` that the umask leaves.
    """
    missing = list[Path]()
    for parent in (folder, *folder.parents):
        if parent.is_dir():
            break
        missing.append(parent)
    missing.reverse()
    # A loop: a hostile delivery has more folders than functions can call themselves.
    for parent in missing:
        parent.mkdir(rights, exist_ok=True)
        sync_folder(parent.parent)
    return missing


def share_with_folder(path: Path, dir_fd: int | None = None) -> None:
    """Give a new file or folder to those who use the folder that it lies in; nobody else gains a right by it."""
    # What root makes would shut out the owner of the folder. What a member of a group makes would shut out the other
    # members, if that person's umask keeps it.
    folder = os.stat(path.parent, dir_fd=dir_fd)
    own = os.stat(path, dir_fd=dir_fd)
    is_of_root = os.geteuid() == 0 and folder.st_uid != own.st_uid
    is_for_group = folder.st_mode & stat.S_IWGRP
    is_for_everybody = folder.st_mode & stat.S_ISVTX  # as /tmp is
    if not is_of_root and (not is_for_group or is_for_everybody):
        return
    owner = folder.st_uid if is_of_root else _SAME_OWNER
    passed_on = _RIGHTS_OF_FILE
    if stat.S_ISDIR(own.st_mode):
        passed_on = _RIGHTS_OF_FOLDER
    rights = stat.S_IMODE(own.st_mode) | folder.st_mode & passed_on
    with suppress(OSError):  # a file system without owners, or a group that we are no member of
        os.chown(path, owner, folder.st_gid, dir_fd=dir_fd)
        os.chmod(path, rights, dir_fd=dir_fd)


@contextmanager
def new_file(path: Path, replaces: bytes | None = None) -> Iterator[IO[bytes]]:
    """Write beside the file, and name it when it is whole; UsageError if it exists or cannot be written.

    One that begins as what it `replaces` may exist.
    """
    draft = path.parent / f".proofsweep-{secrets.token_hex(4)}"  # the name itself may be as long as one can be
    try:
        _refuse_existing(path, replaces)  # before somebody waits for the content
        with draft.open("xb") as file:
            yield file
        _give_name(draft, path, replaces)
    except OSError as error:
        why = error.strerror or error
        raise UsageError(f"{printable(str(path))} cannot be written: {why}") from error
    finally:
        with suppress(OSError):  # what hindered the writing is said already
            draft.unlink(missing_ok=True)


def _give_name(draft: Path, path: Path, replaces: bytes | None) -> None:
    if replaces is None:
        # A link is refused where a name is taken, in one step. Renaming would replace another process's file.
        try:
            os.link(draft, path)
        except OSError as error:
            if error.errno not in _WITHOUT_LINKS:
                raise
        else:
            return
    _refuse_existing(path, replaces)
    draft.replace(path)


def _refuse_existing(path: Path, replaces: bytes | None) -> None:
    is_there = path.exists() or path.is_symlink()
    if is_there and (replaces is None or not path.read_bytes().startswith(replaces)):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
