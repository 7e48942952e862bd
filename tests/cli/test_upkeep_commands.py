"""`proofsweep compact`: what is derived is made anew, and says the same."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

Command = Callable[..., CompletedProcess[str]]


def test_index_and_snapshot_can_be_deleted_and_made_anew(proofsweep: Command, finished_run: str, workdir: Path) -> None:
    """Nothing else changes, and a second time nothing changes at all."""
    before = json.loads(proofsweep("status", "--runs", "--json").stdout)
    for derived in ("_index", "_snapshot"):
        shutil.rmtree(workdir / "results" / derived)

    first, again = proofsweep("compact"), proofsweep("compact", "--json")

    assert (first.returncode, first.stdout) == (
        0,
        "results: the index has 1 run with 1 leg, the snapshot 26 rows\n".replace("results", str(workdir / "results")),
    )
    assert json.loads(again.stdout) == {"runs": 1, "legs": 1, "snapshot_rows": 26}
    assert json.loads(proofsweep("status", "--runs", "--json").stdout) == before
    assert finished_run in proofsweep("status", finished_run).stdout


def test_a_damaged_part_ends_in_one_line(proofsweep: Command, finished_run: str, workdir: Path) -> None:
    """It names the part; no traceback is shown."""
    (part,) = (workdir / "results" / "verdicts").glob(f"*/{finished_run}-*.parquet")
    part.write_bytes(b"PAR1 lost")

    for command in (["compact"], ["status", finished_run]):
        done = proofsweep(*command)

        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert f"{part.name} in the results store" in done.stderr


def test_compact_of_an_empty_place_writes_nothing(proofsweep: Command, workdir: Path) -> None:
    """A misspelt path is said so."""
    done = proofsweep("compact", "--results", "misspelt")

    assert (done.returncode, list(workdir.iterdir())) == (2, [])
    assert "There is no run in" in done.stderr
