"""`proofsweep query` without SQL asks on a terminal; here the terminal is a pseudo-terminal."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results

from ..unit.answers.views.nights import ACCEPTED, MONDAY, REJECTED, TUESDAY, night

ENTER, TAB, CTRL_C, CTRL_D, UP = "\r", "\t", "\x03", "\x04", "\x1b[A"
CURSOR_ASKED, CURSOR = b"\x1b[6n", b"\x1b[1;1R"
STEERING = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Person:
    """Types on a terminal, and reads it."""

    def __init__(self, terminal: int, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._terminal = terminal
        self._unread = ""

    def types(self, *keys: str) -> None:
        """Type at once."""
        os.write(self._terminal, "".join(keys).encode())

    def reads(self, words: str) -> str:
        """Read until these words are there, and give what stood before them."""
        end = time.monotonic() + 60
        while words not in self._unread and time.monotonic() < end and self._read():
            pass
        assert words in self._unread, f"not found: {words!r} in {self._unread!r}"
        before, _, self._unread = self._unread.partition(words)
        return before

    def _read(self) -> bool:
        ready, _, _ = select.select([self._terminal], [], [], 1)
        if not ready:
            return True
        with suppress(OSError):  # the process has ended
            written = os.read(self._terminal, 65_536)
            if CURSOR_ASKED in written:
                os.write(self._terminal, CURSOR)
            self._unread += STEERING.sub("", written.decode())
            return bool(written)
        return False


@contextmanager
def prompt(store: Path, state: Path) -> Iterator[Person]:
    """Start the command on a terminal of its own."""
    terminal, end = pty.openpty()
    command = [sys.executable, "-m", "proofsweep_cli", "query", "--results", str(store)]
    process = subprocess.Popen(
        command, stdin=end, stdout=end, stderr=end, env={**os.environ, "XDG_STATE_HOME": str(state), "TERM": "xterm"}
    )
    os.close(end)
    try:
        yield Person(terminal, process)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


@pytest.fixture
def label(tmp_path: Path) -> Results:
    """A store of one night."""
    results = Results(FolderStore(tmp_path / "store"))
    night(results, MONDAY, {"a": ACCEPTED, "b": REJECTED})
    return results


def test_statements_are_asked_one_by_one(label: Results, tmp_path: Path) -> None:
    """Over several lines, with completion; a mistake is one line; a new run is there; what was typed is kept."""
    with prompt(tmp_path / "store", tmp_path / "state") as person:
        person.reads("proofsweep>")
        person.types("SELECT count(*) AS files", ENTER, "FROM latest_att", TAB)
        person.reads("empt")
        person.types(";", ENTER)
        assert person.reads("1 row").split()[-2:] == ["files", "2"]
        person.types("SELECT nothing FROM verdicts;", ENTER)
        person.reads("proofsweep: The query cannot be answered: Binder Error")
        night(label, TUESDAY, {"a": ACCEPTED, "b": ACCEPTED, "c": ACCEPTED})
        person.types(UP, UP, ENTER)
        assert person.reads("1 row").split()[-2:] == ["files", "3"]
        person.types("half a statement", CTRL_C, ".views", ENTER)
        person.reads("One row for each HTTP exchange")
        person.reads("proofsweep>")
        person.types("SELECT sum(n) FROM range(1000000000000) AS all_of_them(n);", ENTER)
        person.reads("all_of_them(n);")
        time.sleep(2)
        person.process.send_signal(signal.SIGINT)
        person.reads("proofsweep: The statement was stopped.")
        person.reads("proofsweep>")
        person.types(CTRL_D)
        assert person.process.wait(30) == 0

    kept = tmp_path / "state" / "proofsweep" / "query-history"
    assert "SELECT nothing FROM verdicts;" in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0
