"""What others raise becomes a line for a person, or is seen whole because it is a mistake of this program."""

import errno
import sqlite3
import ssl
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from proofsweep.config.known_errors import known_error
from proofsweep.domain.errors import ConfigError, NameTaken, ProofsweepError, ResultsError, RunMustStop, UsageError

FREE_SOME = "free some, also for temporary files (TMPDIR)."


def raised_by(work: Callable[[], object]) -> Exception:
    try:
        work()
    except Exception as error:  # noqa: BLE001 - of many libraries
        return error
    pytest.fail("it works")


def fill_a_temporary_table() -> None:
    with closing(sqlite3.connect("")) as table:
        table.execute("PRAGMA max_page_count = 1")
        table.execute("CREATE TABLE files (name TEXT)")


def read_a_damaged_part(read: Callable[[Path], object]) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        part = folder / "part.parquet"
        pq.write_table(pa.table({"name": ["a.wav"]}), part)
        part.write_bytes(part.read_bytes()[:40])
        read(part)

    return work


def read_bytes_that_are_no_footer(_: Path) -> None:
    content = b"PAR1" + b"\xff" * 30 + (30).to_bytes(4, "little") + b"PAR1"
    pq.ParquetFile(pa.BufferReader(content))


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (OSError(errno.ENOSPC, "x", "/secret"), RunMustStop, f"No space left on device: {FREE_SOME}"),
        (OSError(errno.EDQUOT, "x"), RunMustStop, f"Disk quota exceeded: {FREE_SOME}"),
        (FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']"), RunMustStop, FREE_SOME),
        (OSError(errno.EMFILE, "x"), RunMustStop, "Too many open files: raise the limit"),
        (OSError(errno.EIO, "x", "/mnt/a.wav"), RunMustStop, "/mnt/a.wav: Input/output error: look after the disk"),
        (OSError(errno.ESTALE, "x", "/mnt"), RunMustStop, "/mnt: Stale file handle: mount the network disk again."),
        (PermissionError(errno.EACCES, "x", "a.csv"), UsageError, "a.csv: permission denied: give this user the right"),
        (OSError(errno.ENAMETOOLONG, "x", "a" * 9), UsageError, "aaaaaaaaa: file name too long: "),
        (OSError(errno.EROFS, "x", "/a"), UsageError, "/a: read-only file system: name one on a disk"),
        (IsADirectoryError(errno.EISDIR, "x", "a"), UsageError, "a: is a directory: name a file."),
        (NotADirectoryError(errno.ENOTDIR, "x", "a/b"), UsageError, "a/b: not a directory: a part of the path"),
        (FileNotFoundError(errno.ENOENT, "x", "new\nline"), UsageError, r"new\nline: no such file or directory"),
        (FileNotFoundError(errno.ENOENT, "x", b"/a\xff"), UsageError, r"/a\xff: no such file"),
        (MemoryError(), RunMustStop, "There is too little memory: "),
        (NameTaken("It is there."), NameTaken, "It is there."),
    ],
)
def test_an_error_of_the_system_says_where_and_what_to_do(error: Exception, kind: type[Exception], said: str) -> None:
    """Names are shown on one line. A full disk is another one than that of the file which could not be written."""
    known = known_error(error)

    assert type(known) is kind
    assert said in str(known)
    assert str(known).isprintable()


@pytest.mark.parametrize(
    ("work", "kind", "said"),
    [
        (lambda _: fill_a_temporary_table(), RunMustStop, f"(database or disk is full): {FREE_SOME}"),
        (lambda at: sqlite3.connect(at / "none" / "x"), RunMustStop, "unable to open database file"),
        (read_a_damaged_part(pq.read_table), ResultsError, "`proofsweep audit` names what is damaged."),
        (read_a_damaged_part(lambda part: duckdb.read_parquet(str(part))), ResultsError, "part.parquet'): `proofsweep"),
        (read_bytes_that_are_no_footer, ResultsError, "A table of the results store cannot be read (Couldn't"),
        (lambda at: (at / "\udcff").write_text("\udcff"), UsageError, r"A name holds the byte \xff"),
        (lambda at: (at / "a\0b").stat(), UsageError, "A path holds the character NUL"),
        (lambda at: ssl.create_default_context(cafile=at / "none"), ConfigError, "check SSL_CERT_FILE"),
        (lambda _: ssl.create_default_context(cafile=__file__), ConfigError, "check SSL_CERT_FILE"),
    ],
)
def test_an_error_of_a_library_is_known_where_it_tells_of_a_file(
    tmp_path: Path, work: Callable[[Path], object], kind: type[Exception], said: str
) -> None:
    known = known_error(raised_by(lambda: work(tmp_path)))

    assert type(known) is kind
    assert said in str(known)


@pytest.mark.parametrize(
    "work",
    [
        lambda: 1 // 0,
        lambda: {}["key"],
        b"\xff".decode,
        lambda: duckdb.sql("SELECT nothing"),
        lambda: pa.array(["x"], pa.int64()),
        lambda: sqlite3.connect("").execute("SELECT nothing"),
        lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).set_ciphers("none"),
        lambda: open(-1),  # noqa: PTH123, SIM115 - a number that is of no file
    ],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_mistake_of_this_program_is_not_known(work: Callable[[], object]) -> None:
    """Its traceback says where it is."""
    assert known_error(raised_by(work)) is None


def test_a_deleted_working_folder_is_told_as_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's error has no name, whatever asks for the folder."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here").rmdir()

    known: ProofsweepError | None = known_error(raised_by(Path.cwd))

    assert str(known) == "The working folder was deleted: go to one that exists."
