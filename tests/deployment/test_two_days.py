"""Two days of three partners, many catalogs and two workers: parts are killed at random, and nobody touches anything.

An hour is some seconds. `make soak` takes an hour for the two days, with 21 catalogs.
"""

import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..servers.alert_receivers import webhook
from ..worlds.waiting import wait_for
from .composed_system import ComposedSystem
from .two_days import TwoDays, two_days

SOAK_SECONDS = float(os.environ.get("PROOFSWEEP_SOAK_TWO_DAYS_SECONDS", "0"))
SEED = int(os.environ.get("PROOFSWEEP_SOAK_SEED", "11"))
HOURS = 48
# The server takes a killed flow run for dead after four minutes, whatever an hour is here, and keeps the slot
# of its deployment as long. No wait should come near it.
LONGEST_WAIT_SECONDS = 600.0
HOUR_SECONDS = SOAK_SECONDS / HOURS
SIZES = {"catalogs": 7, "files": 40} if SOAK_SECONDS >= 1_800 else {"catalogs": 2, "files": 26}
"""Catalogs of each of the three partners, and their files; a machine starts some forty flow runs in five minutes."""


@pytest.fixture
def days(composed: ComposedSystem, tmp_path: Path) -> Iterator[TwoDays]:
    """The system, with the catalogs and schedules of three partners."""
    with webhook() as hook, two_days(composed, tmp_path, hook, hour_seconds=HOUR_SECONDS, seed=SEED, **SIZES) as days:
        yield days


def covered_of(days: TwoDays) -> dict[str, int]:
    """Count the files of each catalog that have an answer, by a plain reader."""
    answered = set(days.answers())
    return {str(catalog): len(files & answered) for each in days.partners for catalog, files in each.to_send.items()}


def assert_status_is_right(days: TwoDays) -> None:
    """Compare each catalog's line with what was there just before and just after."""
    before = covered_of(days)
    shown = days.command(days.partners[0], "status")
    after = covered_of(days)
    lines = {line["catalog"]: line for line in shown["catalogs"]}
    for catalog, least in before.items():
        line = lines.get(catalog)
        if line is None or line["covered"] is None:
            assert least == 0, f"{catalog}: {least} answered, shown as {line}"
        else:
            answered = line["covered"] - line["ineligible"]
            assert least <= answered <= after[catalog], f"{catalog}: {least} to {after[catalog]}, shown as {line}"
            assert line["environment"] in catalog
    assert {quota["environment"] for quota in shown["quotas"]} <= {each.name for each in days.partners}


def let_it_happen(days: TwoDays) -> None:
    """Live through the hours: in each something may break, and some things are mended by those who own them."""
    breaking = [
        days.kill_worker,
        days.kill_server,
        days.kill_partner,
        days.fail_partner,
        days.spend_quota,
        days.rotate_key,
        days.stop_worker,
    ]
    begun = time.monotonic()
    for hour in range(HOURS):
        if hour % len(breaking) == 0:
            days.chance.shuffle(breaking)
        if hour % 3 == 1:
            breaking[(hour // 3) % len(breaking)]()
        if hour % 3 == 0:
            days.mend()
            days.deliver()
            assert_status_is_right(days)
        time.sleep(max(0.0, begun + (hour + 1) * HOUR_SECONDS - time.monotonic()))
    days.mend()


def wait_until_whole(days: TwoDays) -> None:
    """Wait until the schedules, which nobody touches, have brought an answer for each file."""

    def missing() -> dict[str, int]:
        answered = set(days.answers())
        lacking = {str(name): len(files - answered) for each in days.partners for name, files in each.to_send.items()}
        names = {Path(each).name for each in answered}
        return lacking | {each.name: len(each.delivered - names) for each in days.partners}

    wait_for(lambda: not any(missing().values()), lambda: (missing(), days.hook.titles), LONGEST_WAIT_SECONDS)


def ends_of(days: TwoDays) -> dict[str, set[str]]:
    """Return how the legs of each run ended."""
    ends: dict[str, set[str]] = {}
    for leg in days.rows("runs"):
        ends.setdefault(leg["run_id"], set()).add(leg["ended_by"])
    return ends


def assert_alerts_are_true_and_told_once(days: TwoDays) -> None:
    """Each message comes once; the run that it names ended as it says."""
    posts = [(post["title"], post["message"]) for _, post in days.hook.posts]
    assert [post for post, times in Counter(posts).items() if times > 1] == []
    ends = ends_of(days)
    for title, message in posts:
        for run in re.findall(r"\b\d{8}T\d{6}Z_[0-9a-f]+", message):
            assert run in ends, (title, message)


@pytest.mark.skipif(not SOAK_SECONDS, reason="takes as long as PROOFSWEEP_SOAK_TWO_DAYS_SECONDS says: make soak")
@pytest.mark.timeout(SOAK_SECONDS + 1_500)
def test_nobody_has_to_touch_anything_for_two_days(days: TwoDays) -> None:
    """Each file has one answer, only what a kill cut off is verified again, and alerts and status are true."""
    let_it_happen(days)
    wait_until_whole(days)

    answers = days.answers()
    assert {audio: count for audio, count in answers.items() if count > 1} == {}
    verified = sum(each.verified() for each in days.partners)
    assert 0 <= verified - sum(answers.values()) <= days.lost_at_most
    verified: dict[str, set[Any]] = {each.name: set() for each in days.partners}
    for row in days.rows():
        verified[row["environment"]].add(Path(row["audio"]).relative_to(days.folder).parts[0])
    assert verified == {each.name: {each.name} for each in days.partners}
    assert_alerts_are_true_and_told_once(days)
    assert_status_is_right(days)
