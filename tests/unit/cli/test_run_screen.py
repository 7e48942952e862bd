"""Progress is a few lines on a terminal; in a log the same is one line with the time, read the next morning."""

import io
from dataclasses import replace
from datetime import UTC, datetime

from proofsweep.queries.status import RunStatus
from proofsweep.store.heartbeat import LegProgress, OpenLeg
from proofsweep.store.holder import Holder
from proofsweep_cli.run_screen import active_lines, followed, where_line
from proofsweep_cli.screen import Screen

from ...worlds.ended_runs import plan_of_run

HOLDER = Holder(host="night-1", machine="b", pid=7, process_started="1", taken_at=datetime(2026, 11, 20, 2, tzinfo=UTC))
BEAT = datetime(2026, 11, 20, 2, 30, tzinfo=UTC)
TOLD = LegProgress(
    rows=5_000,
    finished_before=1_000,
    counts={"accepted": 230, "rejected": 4},
    rate=1.3,
    calls=468,
    seconds_left=2_900.0,
    lane_rate=2.6,
    quota_left=40_000,
)
LEG = OpenLeg(run_id="r", leg=2, holder=HOLDER, beaten_at=BEAT, age_seconds=4.2, progress=TOLD)


def text_of(leg: OpenLeg) -> list[str]:
    return [line.plain for line in active_lines(leg.progress, [leg])]


def run_of(leg: OpenLeg) -> RunStatus:
    return RunStatus(plan=plan_of_run("20261120T120000Z_000aa", 5_000), groups=(), legs=(), open_legs=(leg,))


def test_a_leg_is_shown_in_a_few_lines() -> None:
    """Rows of all legs, rate, time left, calls, quota, lane, machine and process, and the age of all this."""
    assert text_of(LEG) == [
        "1,234 of 5,000 rows · 25 % · 230 accepted · 4 rejected · 1,000 by earlier legs",
        "1.3 files/s · about 48 min 20 s left",
        "468 calls · 40,000 left in the quota · lane 2.6 calls/s",
        "leg 2: process 7 on night-1, since 2026-11-20 02:00:00 UTC, last sign of life 4 s ago",
    ]
    stopping = replace(TOLD, waiting="stopping, 12 files in flight: The window closed.")
    assert text_of(replace(LEG, progress=stopping))[-2] == "waits: stopping, 12 files in flight: The window closed."


def test_an_old_sign_of_life_says_so() -> None:
    """Only its own machine knows that a process has ended; a full disk silences one that works."""
    late = replace(LEG, age_seconds=28.0, progress=None)
    cause = ": it cannot write to the results store, or is gone"

    gone, silent = (where_line(replace(LEG, age_seconds=180.0, is_gone=is_gone)) for is_gone in (True, False))

    assert gone == "process 7 on night-1 is gone, last sign of life 3 min 00 s ago"
    assert silent == f"process 7 on night-1 is silent, last sign of life 3 min 00 s ago{cause}"
    assert text_of(late)[0] == "no heartbeat has come yet"
    assert text_of(late)[1].endswith(f"last sign of life 28 s ago{cause}")
    assert text_of(replace(late, age_seconds=4.0))[0].startswith("it has just begun")


def test_a_log_has_a_line_for_each_heartbeat() -> None:
    """With the heartbeat's own time; a leg that falls silent has one line, too."""
    out = Screen(file=io.StringIO(), width=500)
    later = replace(LEG, beaten_at=BEAT.replace(minute=31), progress=replace(TOLD, counts={"accepted": 300}))
    silent = replace(later, age_seconds=140.0)

    assert followed(out, map(run_of, [LEG, replace(LEG, age_seconds=6.2), later, silent, silent]))

    assert isinstance(out.file, io.StringIO)
    lines = out.file.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[0] == f"{BEAT.astimezone():%Y-%m-%d %H:%M:%S} {' · '.join(text_of(LEG))}"
    assert "1,300 of 5,000 rows" in lines[1]
    assert lines[2].endswith(where_line(silent))
