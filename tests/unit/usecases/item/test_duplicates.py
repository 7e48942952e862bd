"""Items that may be the same as one in hand wait for it, and hold up nobody else."""

import threading
from pathlib import Path

from proofsweep.client.stop import StopSwitch
from proofsweep.domain.items import Mode
from proofsweep.storage.files.audio import open_audio
from proofsweep.usecases.item.duplicates import DuplicateCache, DuplicateKey
from proofsweep.usecases.leg.workers import Workers


def test_many_copies_of_one_file_do_not_starve_the_run(tmp_path: Path) -> None:
    """While thirty of them wait for the first, other items begin."""
    workers = Workers(64)
    repeats = DuplicateCache(StopSwitch(), make_room=workers.make_room)
    mark, path = DuplicateKey(Mode.ONE_FILE, 3, 0, None), tmp_path / "a.wav"
    path.write_bytes(b"abc")
    strangers_work = threading.Event()

    def look() -> object:
        with open_audio(str(path)) as audio:
            return repeats.original_of(mark, audio)

    def copy() -> object:
        try:
            return look()
        finally:  # one that looks only after the first was settled is a first itself
            repeats.settle(mark, None)

    look()  # the first, whose own verification takes its time
    copies = [workers.submit(copy) for _ in range(30)]
    workers.submit(strangers_work.set)

    assert strangers_work.wait(10.0)
    assert not any(each.done() for each in copies)
    repeats.settle(mark, None)
    assert [each.result(10.0) for each in copies] == [None] * 30
    workers.shutdown()
