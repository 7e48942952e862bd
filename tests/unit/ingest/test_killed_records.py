"""Passes that are killed at each note or part that they write: a file that leaves has one row, which is true."""

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Reason
from proofsweep.files.moving import Moves
from proofsweep.ingest import records
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results

from ...worlds.core import next_term
from .conftest import WAV, Watched

FILES = [f"{number}.wav" for number in range(5)]


class Killed(BaseException):
    """A process ends here: nothing handles it."""


@pytest.fixture
def new_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Watched]:
    """Return what makes a watched folder with five files, which are moved two by two."""
    monkeypatch.setattr(records, "_BATCH", 2)
    numbers = itertools.count()

    def make() -> Watched:
        root = tmp_path / f"{next(numbers)}"
        (root / "in").mkdir(parents=True)
        watched = Watched(root, Results(FolderStore(root / "results")))
        for name in FILES:
            watched.deliver(name, WAV + name.encode().ljust(8))
        return watched

    return make


def is_killed(watched: Watched, monkeypatch: pytest.MonkeyPatch, write: int, *, is_written: bool) -> bool:
    """Make a pass that is killed before or after it writes a note or a part; say whether it was."""
    writes = itertools.count()
    with monkeypatch.context() as patched:
        for method in ("create", "replace"):
            put = getattr(FolderStore, method)

            def killing(store: FolderStore, name: str, content: bytes, put: Callable[..., None] = put) -> None:
                is_of_ingest = name.startswith("ingest/") or name.endswith(("state.json", "moves.json", "held.json"))
                is_last = is_of_ingest and next(writes) == write
                if is_last and not is_written:
                    raise Killed
                put(store, name, content)
                if is_last:
                    raise Killed

            patched.setattr(FolderStore, method, killing)
        try:
            watched.run_pass()
        except Killed:
            watched.term = next_term(watched.results.store, "watched")
            return True
    return False


def rows_of(watched: Watched) -> Counter[tuple[str, str]]:
    rows = watched.results.table("ingest", watched.results.all_parts("ingest")).to_pylist()
    return Counter((Path(row["audio"]).name, row["disposition"]) for row in rows)


def take_what_has_a_row(watched: Watched) -> None:
    for name, disposition in rows_of(watched):
        if disposition == "accepted":
            (watched.root / "ok" / name).unlink(missing_ok=True)


@pytest.mark.parametrize("is_written", [False, True])
def test_what_left_before_a_kill_is_not_called_gone(
    new_watched: Callable[[], Watched], monkeypatch: pytest.MonkeyPatch, *, is_written: bool
) -> None:
    """A leg with more files than are moved together; a consumer takes what has its row before the next pass."""
    for write in itertools.count():
        watched = new_watched()
        was_killed = is_killed(watched, monkeypatch, write, is_written=is_written)
        take_what_has_a_row(watched)
        watched.run_pass()

        assert rows_of(watched) == Counter((name, "accepted") for name in FILES), write
        assert len(watched.sent) == len(FILES) or was_killed
        if not was_killed:
            break
    assert write > 10


@pytest.mark.parametrize("is_written", [False, True])
def test_a_move_that_was_half_made_has_its_row_wherever_the_next_pass_is_killed(
    new_watched: Callable[[], Watched], monkeypatch: pytest.MonkeyPatch, *, is_written: bool
) -> None:
    remove = Moves.remove

    def refused(moves: Moves, source: str, facts: FileFacts) -> bool:
        if source.endswith("1.wav"):
            raise SourceError("It cannot be removed.", reason=Reason.SOURCE_FORBIDDEN)
        return remove(moves, source, facts)

    for write in itertools.count():
        watched = new_watched()
        with monkeypatch.context() as patched:
            patched.setattr(Moves, "remove", refused)
            was_killed = is_killed(watched, monkeypatch, write, is_written=is_written)
            watched.run_pass()
        assert rows_of(watched)["1.wav", "accepted"] == 0, write
        assert rows_of(watched)["1.wav", "left"] > 0, write
        watched.deliver("new.wav", WAV + b"moved on")

        is_killed(watched, monkeypatch, write, is_written=is_written)
        watched.later(60)
        watched.run_pass()

        leaving = rows_of(watched)
        assert leaving.pop(("1.wav", "left")) == 1, write
        assert leaving == Counter((name, "accepted") for name in [*FILES, "new.wav"]), write
        if not was_killed:
            break
    assert write > 10
