"""A drop folder of many suppliers, with passes that are killed, a partner that is down and a target that is away.

There is one delivery of each kind here, on a share without hard links, and three kills; `make soak` has 120 deliveries
and thirty kills, there and elsewhere, and as many of a command that watches.
"""

import os
import random
import signal
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from ..servers.alert_receivers import Webhook
from ..servers.foreign_service import Answer
from ..worlds.command_world import export_settings
from ..worlds.foreign_world import ForeignWorld
from ..worlds.started_command import ForkedProcess
from ..worlds.suppliers import Suppliers, digest_of
from .bare_runner import Runner, count_steps

IS_SOAK = "PROOFSWEEP_SOAK_KILLS" in os.environ
SEED = int(os.environ.get("PROOFSWEEP_SOAK_SEED", "20261129"))
DELIVERIES, KILLS, A_ROUND = (120, 30, 4) if IS_SOAK else (24, 3, 5)
MOST_STEPS = 60
"""A pass that verifies and moves four deliveries makes more changes of the file system than these."""
CALLS_AT_ONCE = 8
MOST_ROUNDS = 120 if IS_SOAK else 16
ROUNDS_DOWN, ROUND_AWAY = (2, 6), 4  # of the partner, of a target
SETTLE_SECONDS = 0.2


@pytest.fixture
def places(bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A watched folder, and where accepted and rejected files are moved."""
    watched, accepted, quarantine = (bare_world.folder / name for name in ("delivered", "accepted", "quarantine"))
    watched.mkdir()
    settings = {"ACCEPTED": accepted, "QUARANTINE": quarantine, "SETTLE_SECONDS": SETTLE_SECONDS, "PAIR_SECONDS": 3_600}
    export_settings(monkeypatch, {f"INGEST__{name}": str(value) for name, value in settings.items()})
    export_settings(monkeypatch, {"PACE__FIRST_RATE": "400", "SERVICE__SIDECAR_FIELD": "sidecar"})
    return [watched, accepted, quarantine]


def digests_in(place: Path) -> Counter[str]:
    return Counter(digest_of(path.read_bytes()) for path in place.rglob("*") if path.is_file())


def names_of(digests: Counter[str], *places: Path) -> list[str]:
    """Name the files with some digests, for a person who reads why a test failed."""
    files = (path for place in places for path in place.rglob("*") if path.is_file())
    return sorted(str(path) for path in files if digest_of(path.read_bytes()) in digests)


def sent_by(world: ForeignWorld) -> Counter[str]:
    return Counter(digest_of(form[-1][1].removesuffix(b"\r\n")) for form in world.service.forms)


def down(_number: int, _usual: Answer) -> Answer:
    return Answer(status=503)


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("job", ["pass", "share"] if IS_SOAK else ["share"])
def test_each_byte_of_each_supplier_ends_in_its_one_right_place(
    bare_world: ForeignWorld, places: list[Path], job: str
) -> None:
    """Whatever is killed, down or away meanwhile: nothing is paid twice but for kills, and each file is named."""
    runner, chance, kills = Runner(), random.Random(SEED), 0  # noqa: S311
    suppliers = Suppliers(places[0], bare_world.service.verdicts, chance)
    delivered, rounds, is_coming = 0, 0, True
    while is_coming and rounds < MOST_ROUNDS:
        rounds += 1
        new = min(A_ROUND, DELIVERIES - delivered)
        suppliers.deliver(new)
        delivered += new
        is_coming = suppliers.lay_some() or delivered < DELIVERIES or kills < KILLS
        is_down, is_away = rounds in ROUNDS_DOWN, rounds == ROUND_AWAY
        if is_down:
            bare_world.service.changes |= {"uploads": down, "verify": down}
        if is_away:
            _swap(places[1])
        is_killed = kills < KILLS and not is_down
        step, when = (chance.randint(1, MOST_STEPS), chance.choice(["before", "after"])) if is_killed else (0, "never")
        code = runner.do(f"{job} {places[0]} {step} {when}")
        assert code in {0, -signal.SIGKILL}, (rounds, step, when)
        kills += code != 0
        bare_world.service.changes.clear()
        if is_away:
            _swap(places[1])
    for _ in range(3):
        assert runner.do(f"{job} {places[0]}") == 0

    print(f"{DELIVERIES} deliveries, {rounds} rounds, {kills} kills")  # noqa: T201 - `make soak` shows it
    _check_all(bare_world, places, suppliers, kills)
    assert kills == KILLS or not IS_SOAK


@pytest.mark.skipif(not IS_SOAK, reason="each start of the command takes five seconds of a processor")
@pytest.mark.timeout(3_600)
def test_a_command_that_watches_does_the_same_however_often_it_is_killed(
    bare_world: ForeignWorld, places: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It makes many passes in one process, and the next process goes on."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(bare_world.folder / "prefect"))
    chance, kills, delivered, is_coming = random.Random(SEED), 0, 0, True  # noqa: S311
    suppliers = Suppliers(places[0], bare_world.service.verdicts, chance)

    def start() -> ForkedProcess:
        is_killed = kills < KILLS
        step, when = (chance.randint(1, MOST_STEPS), chance.choice(["before", "after"])) if is_killed else (0, "never")
        command = ["ingest", str(places[0]), "--watch", "--every", "1"]
        return bare_world.start(*command, before=partial(count_steps, step, when))

    def wait_for_passes(count: int) -> None:
        said = f"{places[0]}: "
        before = bare_world.logs.count(said)
        bare_world.wait_for(lambda: bare_world.logs.count(said) >= before + count or process.poll() is not None)

    process = start()
    while is_coming:
        new = min(A_ROUND, DELIVERIES - delivered)
        suppliers.deliver(new)
        delivered += new
        is_coming = suppliers.lay_some() or delivered < DELIVERIES
        wait_for_passes(2)
        if process.poll() is not None:
            assert process.wait() == -signal.SIGKILL, bare_world.logs
            kills += 1
            process = start()
    wait_for_passes(4)
    process.send_signal(signal.SIGTERM)

    assert process.wait() >= 0, bare_world.logs
    print(f"{DELIVERIES} deliveries, {kills} kills of a command that watches")  # noqa: T201 - as above
    _check_all(bare_world, places, suppliers, kills)


def _check_all(world: ForeignWorld, places: list[Path], suppliers: Suppliers, kills: int) -> None:
    """Each byte lies in its place, with a row; nothing was paid twice but by a kill."""
    found = [digests_in(place) for place in places]
    wrong = [
        (place.name, names_of(there - right, place), names_of(right - there, *places))
        for place, there, right in zip(
            places, found, (suppliers.left, suppliers.accepted, suppliers.quarantined), strict=True
        )
        if there != right
    ]
    assert wrong == []
    paid = sent_by(world)
    assert set(paid) == suppliers.paid
    assert sum(paid.values()) - len(suppliers.paid) <= kills * CALLS_AT_ONCE
    _check_words(world, places)
    assert not list(world.folder.rglob(".proofsweep-*"))


@pytest.mark.timeout(600)
def test_passes_by_command_and_flow_tell_of_each_outage_once(
    world: ForeignWorld, places: list[Path], hook: Webhook
) -> None:
    """The partner is down twice, for more than one pass; what came meanwhile ends where it belongs."""
    suppliers = Suppliers(places[0], world.service.verdicts, random.Random(SEED))  # noqa: S311
    told: list[int] = []
    codes: list[int] = []
    for passes in (2, 1):
        suppliers.deliver(3)
        suppliers.lay_some()
        world.service.changes |= {"uploads": down, "verify": down}
        codes += [world.run("ingest", str(places[0])) for _ in range(passes)]
        told.append(len(hook.titles))
        world.service.changes.clear()
        world.flow("check_ingest", str(places[0]))
        told.append(len(hook.titles))
    while suppliers.lay_some():
        assert Runner().do(f"pass {places[0]}") == 0
    world.run("ingest", str(places[0]))

    assert (codes, told) == ([8, 8, 8], [1, 1, 2, 2])
    assert all("rows remain" in title or "row remains" in title for title in hook.titles)
    assert len(hook.titles) == 2
    assert [digests_in(place) for place in places] == [suppliers.left, suppliers.accepted, suppliers.quarantined]
    assert sum(sent_by(world).values()) == len(suppliers.paid)


def _swap(place: Path) -> None:
    """Put a file in the place of a folder, or the folder back."""
    aside = place.with_suffix(".away")
    if place.is_file():
        place.unlink()
        if aside.exists():
            aside.rename(place)
        return
    if place.exists():
        place.rename(aside)
    place.write_bytes(b"no folder")


def _check_words(world: ForeignWorld, places: list[Path]) -> None:
    """Each audio file that was moved has a row that names it, with its outcome and its bytes."""
    rows = {(str(row["audio_moved_to"]), row["audio_sha256"]): row for row in world.table("ingest")}
    for place in places[1:]:
        for path in (path for path in place.rglob("*") if path.suffix in {".wav", ".mp3"}):
            digest = digest_of(path.read_bytes())
            row = rows.get((str(path), digest)) or rows.get((str(path), None))
            assert row is not None, path
            verdict = world.service.verdicts[digest]
            outcome = "accepted" if verdict == "valid" else "rejected"
            assert row["outcome"] in {outcome, "ineligible"}, (path, row["outcome"])
            assert (row["outcome"] == "ineligible") == (row["reason"] == "clip"), (path, row["reason"])
            assert place.name == "quarantine" or row["outcome"] != "rejected"
