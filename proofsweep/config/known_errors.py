"""The one door for the errors of others: what the system, DuckDB, Arrow and SQLite raise, as a line for a person.

They tell of a disk, a path, a right or a damaged file. Any other error is a mistake of this program, which must be seen
whole. No library is imported for this: a light command has none of them, and their errors are known by their modules.
"""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

from proofsweep.config.locations import one_line
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import DISK_IS_FULL, ConfigError, ProofsweepError, ResultsError, RunMustStop, UsageError

_FREE_SOME = "free some, also for temporary files (TMPDIR)"
_NO_TEMPORARY_FOLDER = "No usable temporary directory"
_WORKING_FOLDER_GONE = "The working folder was deleted: go to one that exists."
_OF_TLS = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")
_DAMAGED = "`proofsweep audit` names what is damaged"

# What to do about a path, by what the system says of it.
_FIXES = {
    errno.EACCES: "give this user the right to it, or name another",
    errno.EPERM: "give this user the right to it, or name another",
    errno.ENAMETOOLONG: "no part of a path may be so long; name a shorter one",
    errno.EROFS: "name one on a disk that can be written",
    errno.ENOENT: "check the path",
    errno.ENOTDIR: "a part of the path is a file; check the path",
    errno.EISDIR: "name a file",
    errno.EEXIST: "name another",
    errno.ENOTEMPTY: "name another",
    errno.ELOOP: "links lead in a circle; name the file itself",
}
# What to do about this machine. Its errors often name no file.
_FIXES_OF_MACHINE = {
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "the machine has too many open files; end other programs",
    errno.ENOMEM: "end other programs, or take a machine with more memory",
    errno.EIO: "look after the disk or the mount",
    errno.ESTALE: "mount the network disk again",
    errno.ENOTCONN: "mount the network disk again",
    errno.EHOSTDOWN: "mount the network disk again",
}

# Of DuckDB's errors those that tell of files, memory or disks; others tell of SQL, and ours is right or a mistake.
_DUCKDB_OF_MACHINE = {"IOException", "OutOfMemoryException", "InvalidInputException", "SerializationException", "Error"}
# Of SQLite's primary result codes, the lowest byte of each code, those that do.
_PRIMARY_CODE = 0xFF
_SQLITE_FULL, _SQLITE_DAMAGED = {10, 13, 14}, {11, 26}  # IOERR, FULL and CANTOPEN; CORRUPT and NOTADB
_SQLITE_OF_MACHINE = {3, 5, 6, 7, 8}  # PERM, BUSY, LOCKED, NOMEM, READONLY


def known_error(error: BaseException) -> ProofsweepError | None:
    """Return what an error says to a person: what is wrong, where, and what to do. None for a mistake of this program.

    RunMustStop tells of this machine's state, and a leg that it ends can be resumed; UsageError of what was named. The
    line holds no content of a file or a request.
    """
    match error:
        case ProofsweepError():
            return error
        case MemoryError():
            return _machine_error("There is too little memory", _FIXES_OF_MACHINE[errno.ENOMEM])
        case UnicodeEncodeError(reason=reason) if "surrogates" in reason:
            byte = one_line(error.object[error.start : error.start + 1])
            return UsageError(f"A name holds the byte {byte}, which is not UTF-8: rename it, or write it in UTF-8.")
        case ValueError() if str(error).startswith("embedded null"):
            return UsageError("A path holds the character NUL, which no file name can hold: check the settings.")
        case OSError() if _module_of(error) in {"builtins", "shutil", "tempfile"}:
            return _of_system(error)
    return _of_library(error)


def _of_system(error: OSError) -> ProofsweepError | None:
    code = error.errno or 0
    if (error.strerror or "").startswith(_NO_TEMPORARY_FOLDER):
        return _machine_error(_NO_TEMPORARY_FOLDER, _FREE_SOME)
    if code in DISK_IS_FULL:
        return _machine_error(os.strerror(code), _FREE_SOME)
    if code in _FIXES_OF_MACHINE:
        what = f"{_shown_path(error.filename)}{os.strerror(code)}"
        return _machine_error(what, _FIXES_OF_MACHINE[code])
    if code == 0 and _is_of_parquet(error):  # Arrow's own, as of a part whose bytes were changed
        return _damaged_error(error)
    return _of_path(error, code)


def _of_path(error: OSError, code: int) -> UsageError | None:
    if code == errno.ENOENT and not _has_working_folder():
        return UsageError(_WORKING_FOLDER_GONE)
    if code not in _FIXES:
        return None
    where, what = _shown_path(error.filename), os.strerror(code)
    if where:
        clause = what[:1].lower() + what[1:]
        return UsageError(f"{where}{clause}: {_FIXES[code]}.")
    if _came_out_of(error, "ssl.py"):  # which says no name
        return _certificates_error(what)
    return None


def _of_library(error: BaseException) -> ProofsweepError | None:
    match _module_of(error):
        case "_duckdb" | "duckdb" if type(error).__name__ in _DUCKDB_OF_MACHINE:
            return _of_duckdb(error)
        case "pyarrow" if type(error).__name__ == "ArrowMemoryError":
            return _machine_error("There is too little memory", _FIXES_OF_MACHINE[errno.ENOMEM])
        case "pyarrow" if _is_of_parquet(error):
            return _damaged_error(error)
        case "sqlite3":
            return _of_sqlite(error)
        case "ssl" if _came_out_of(error, "ssl.py", "create_default_context"):
            why = getattr(error, "reason", None) or "they are no certificates"
            return _certificates_error(why)
    return None


def _of_duckdb(error: BaseException) -> ProofsweepError:
    text = str(error)
    # DuckDB gives no code, so the system's words tell of a full disk.
    for code in DISK_IS_FULL:
        if os.strerror(code) in text:
            return _machine_error(os.strerror(code), _FREE_SOME)
    if type(error).__name__ == "OutOfMemoryException":
        return _machine_error("There is too little memory, or room for temporary files", _FREE_SOME)
    return _damaged_error(error)


def _of_sqlite(error: BaseException) -> ProofsweepError | None:
    # Only the temporary tables in which lists are sorted are of SQLite, and their errors name no file.
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE
    if code in _SQLITE_FULL:
        return _machine_error(f"A temporary table cannot be written ({error})", _FREE_SOME)
    if code in _SQLITE_DAMAGED | _SQLITE_OF_MACHINE:
        return _machine_error(f"A temporary table cannot be used ({error})", "look after the disk of TMPDIR")
    return None


def _machine_error(what: str, fix: str) -> RunMustStop:
    return RunMustStop(f"{what}: {fix}.", ended_by=EndedBy.BREAKER)


def _damaged_error(error: BaseException) -> ResultsError:
    first_line = str(error).partition("\n")[0].removesuffix(".")
    return ResultsError(f"A table of the results store cannot be read ({first_line}): {_DAMAGED}.")


def _certificates_error(why: str) -> ConfigError:
    variables = ", ".join(_OF_TLS)
    return ConfigError(f"The certificates for TLS cannot be read ({why}): check {variables}.")


def _shown_path(path: object) -> str:
    """Return a path before what is said of it; none for a number of an open file, or where none is named."""
    if not isinstance(path, (str, bytes)) or not path:
        return ""
    return f"{one_line(os.fsdecode(path))}: "


def _has_working_folder() -> bool:
    # The error of a working folder that is gone has no name: it would look like one of the path that was asked for.
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


def _module_of(error: BaseException) -> str:
    """Return the package of the class of an error; a subclass of ours has that of its base."""
    return type(error).__module__.partition(".")[0]


def _is_of_parquet(error: BaseException) -> bool:
    """Return whether an error came out of Arrow's Parquet code: that tells of a file, all else of values of ours."""
    files = [code.co_filename for code in _codes_of(error)]
    return any("pyarrow" in file and "parquet" in file for file in files)


def _came_out_of(error: BaseException, file: str, function: str = "") -> bool:
    """Return whether a file of Python's library raised an error, or passed it on from what it called."""
    return any(Path(code.co_filename).name == file and function in code.co_name for code in _codes_of(error))


def _codes_of(error: BaseException) -> Iterator[CodeType]:
    step = error.__traceback__
    while step is not None:
        yield step.tb_frame.f_code
        step = step.tb_next
