"""A rotation is finished by the same command, whatever happened to an earlier one; there is never a second one."""

import os
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from socket import gethostname

import pytest
from pydantic import SecretStr

from proofsweep.audit.check import audit_store
from proofsweep.client.client import Partner
from proofsweep.client.keys import fingerprint
from proofsweep.domain.errors import (
    CallFailed,
    ConfigError,
    ResultsError,
    RotationUnfinished,
    RunIsActive,
    RunMustStop,
)
from proofsweep.domain.exchanges import Call, Failure
from proofsweep.domain.items import Row
from proofsweep.domain.runs import Operation
from proofsweep.operations.key_store import KeyStore
from proofsweep.operations.operation import OperationLeg, Operator
from proofsweep.operations.rotate import rotation_left

from ...worlds.killed_lines import LINES_BETWEEN_KILLS, is_whole_after
from ..scripted_service import NOW, Scripted, ScriptedService
from .rotating_service import OLD, Installation, RotatingService

OF_ROTATIONS = tuple(f"operations/{name}.py" for name in ("rotate", "key_store", "operation"))


@pytest.fixture
def service() -> ScriptedService:
    return RotatingService()


@pytest.fixture
def here(tmp_path: Path, partner: Partner, service: RotatingService) -> Installation:
    (tmp_path / "key").write_text(f"{OLD}\n")
    return Installation(tmp_path, partner, service)


def test_the_store_has_one_row_and_a_receipt_and_no_key(here: Installation) -> None:
    """Only fingerprints and IDs are recorded; the new key is bound to the service."""
    here.rotate()

    (row,) = here.results.table("rotations", here.results.all_parts("rotations")).to_pylist()
    written = b"".join(path.read_bytes() for path in (here.folder / "results").rglob("*") if path.is_file())
    calls = here.results.table("exchanges", here.results.all_parts("exchanges")).to_pylist()
    assert [(call["call"], call["run_id"]) for call in calls] == [
        (name, row["operation_id"]) for name in ("rotate", "usage")
    ]
    assert (row["new_key_id"], row["request_id"], row["environment"]) == ("k1", "id-1", "sandbox")
    assert len(here.receipts()) == 1
    assert b"pk_" not in written


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the killed one leaves its files open
def test_a_rotation_that_is_killed_after_any_line_is_finished_by_the_same_command(
    tmp_path: Path, partner: Partner, service: RotatingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each moment there is a whole key in the file; afterwards it is the new one, and only one was made."""
    monkeypatch.setattr(os, "fsync", lambda _file: None)  # a process that is killed loses nothing that was written
    line, was_whole = 0, False
    while not was_whole:
        service.__init__()  # type: ignore[misc]  # a service that remembers nothing
        here = Installation(tmp_path / str(line), partner, service)
        here.folder.mkdir()
        here.key_file.write_text(f"{OLD}\n")
        was_whole = is_whole_after(line, OF_ROTATIONS, here.rotate)
        assert here.key_file.read_text() in {f"{OLD}\n", "pk_new_1\n"}, line

        here.rotate()

        assert (here.key_file.read_text(), service.minted) == ("pk_new_1\n", ["pk_new_1"]), line
        assert sorted(path.name for path in here.folder.iterdir()) == ["key", "results"], line
        assert len(here.results.table("rotations", here.results.all_parts("rotations"))) == 1, line
        assert audit_store(here.results).wrong == [], line
        line += LINES_BETWEEN_KILLS
    assert line > 100  # the whole of it was tried


def test_a_command_that_is_repeated_rotates_no_second_time(here: Installation) -> None:
    """A person who is not sure runs it once more; while the old key works, nothing is rotated."""
    here.rotate()

    repeated = here.rotate()
    here.now = here.service.now = NOW + timedelta(hours=72)
    second = here.rotate()

    assert (repeated.was_done, repeated.rotation.new_key_id) == (True, "k1")
    assert (second.was_done, second.rotation.key_id, second.rotation.new_key_id) == (False, "k1", "k2")
    assert here.service.minted == ["pk_new_1", "pk_new_2"]


@pytest.mark.parametrize("lost_as", [Scripted(status=None), Scripted(status=201, failure=Failure.TIMEOUT)])
def test_a_service_that_stays_silent_ends_the_command_and_the_next_one_goes_on(
    here: Installation, lost_as: Scripted
) -> None:
    """Whether the key was rotated is not known, so the message promises nothing but the repeat."""
    here.service.lost_as = lost_as
    _lose_the_answer(here)

    assert here.rotate().rotation.replayed
    written = here.results.table("exchanges", here.results.all_parts("exchanges"))
    assert written["call"].to_pylist() == [call.value for call in here.service.calls]  # of both commands
    assert here.service.minted == ["pk_new_1"]


def test_a_repeat_with_another_place_for_the_key_names_the_place_where_it_is(here: Installation) -> None:
    """Nothing is written into the other one, and that is said. The old key stays where it is, as one in a variable."""
    here.new_key_file = here.folder / "next"

    here.rotate()
    repeated = here.rotate()
    here.new_key_file = here.folder / "another"
    elsewhere = here.rotate()
    here.key_file.write_text("pk_new_1\n")
    in_use = here.rotate()

    unwritten = f"Nothing was written to {here.new_key_file}: copy the new key there if it is wanted there too."
    assert [unwritten in each.lines() for each in (repeated, elsewhere, in_use)] == [False, True, True]
    assert in_use.was_done
    here.key_file.write_text(f"{OLD}\n")
    assert (here.key_file.read_text(), (here.folder / "next").read_text()) == (f"{OLD}\n", "pk_new_1\n")
    assert {(each.was_done, each.location) for each in (repeated, elsewhere)} == {(True, str(here.folder / "next"))}


def test_another_machine_that_has_the_old_key_still_says_where_the_new_one_is(here: Installation) -> None:
    """Its own file has the same name, and holds the old key: the command fails there until somebody puts it in."""
    here.rotate()
    here.key_file.write_text(f"{OLD}\n")  # as the other machine has it

    left = rotation_left(here.results, fingerprint(SecretStr(OLD)))
    with pytest.raises(RotationUnfinished) as said:
        here.rotate()
    here.key_file.write_text("pk_new_1\n")

    assert left is not None
    assert said.value.message == f"Nothing was rotated: {left}"
    assert left == (
        "the key that is in use here was rotated at 2026-11-20 12:00 UTC, and ends at 2026-11-23 12:00 UTC. The new "
        f"key is in {here.key_file} on {gethostname()}: put it into the place of the old one"
    )
    assert (here.rotate().was_done, here.service.minted) == (True, ["pk_new_1"])
    assert rotation_left(here.results, fingerprint(SecretStr("pk_new_1"))) is None


def test_a_rotation_that_another_machine_went_on_with_puts_the_key_that_waits_into_its_place(
    here: Installation,
) -> None:
    """This machine had kept it, and was killed before it tried it."""
    here.service.refused_trials = 99
    with pytest.raises(RotationUnfinished):
        here.rotate()
    here.service.refused_trials = 0
    other = replace(here, new_key_file=here.folder / "of another machine")

    other.rotate()
    done = here.rotate()

    assert (done.was_done, done.location, here.key_file.read_text()) == (True, str(here.key_file), "pk_new_1\n")
    assert here.service.minted == ["pk_new_1"]


def _a_month_after_an_attempt_in_vain(here: Installation) -> None:
    here.service.script[Call.ROTATE] = [Scripted(status=503)] * 9
    with pytest.raises(RunMustStop):
        here.rotate()
    here.service.script[Call.ROTATE] = []
    here.now = here.service.now = NOW + timedelta(days=30)


def test_an_attempt_that_never_reached_the_service_dates_nothing(here: Installation) -> None:
    """A month later the same command rotates the key: it is today that the 72 hours and the 24 hours begin."""
    _a_month_after_an_attempt_in_vain(here)
    here.service.forgotten = {"previousKeyExpiresAt"}

    rotated, repeated = here.rotate(), here.rotate()

    assert rotated.rotation.requested_at == here.now
    assert rotated.rotation.old_key_ends_at == here.now + timedelta(hours=72)
    assert (repeated.was_done, here.service.minted) == (True, ["pk_new_1"])


def _rotate_on_a_disk_that_gets_full(here: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_file: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        here.service.on_call = lambda _call: full.setattr(os, "fsync", fails)
        here.rotate()


def test_a_full_disk_loses_no_key(here: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service gives the key again, for how long is said; of a replay nobody knows when the first answer was."""
    _a_month_after_an_attempt_in_vain(here)

    with pytest.raises(RotationUnfinished, match=r"No space left.*again until 2026-12-21 12:00 UTC: put that right"):
        _rotate_on_a_disk_that_gets_full(here, monkeypatch)
    with pytest.raises(RotationUnfinished, match="again for 24 hours after it was first asked: put that right"):
        _rotate_on_a_disk_that_gets_full(here, monkeypatch)
    here.service.on_call = lambda _call: None

    assert here.key_file.read_text() == f"{OLD}\n"
    assert here.rotate().rotation.replayed
    assert here.key_file.read_text() == "pk_new_1\n"


def _lose_the_answer(here: Installation) -> None:
    here.service.lost = 9
    with pytest.raises(RunMustStop, match=r"not known\. Run the same command") as stopped:
        here.rotate()
    here.service.lost = 0
    assert stopped.value.ended_by == "breaker"


def test_a_key_that_is_lost_is_said_with_what_remains(here: Installation) -> None:
    """The replay window is over; the old key works for the rest of its 72 hours."""
    _lose_the_answer(here)
    here.now = here.service.now = NOW + timedelta(hours=25)

    with pytest.raises(CallFailed, match="after that ask the partner for a key") as said:
        here.rotate()
    assert "look in" not in said.value.message
    here.new_key_file = here.folder / "next"

    with pytest.raises(CallFailed, match=rf"look in {here.key_file}\.new\."):
        here.rotate()


@pytest.mark.parametrize("hours", [25, 80])
def test_a_key_that_was_kept_is_used_although_the_service_repeats_its_answer_no_more(
    here: Installation, hours: int
) -> None:
    """The crash came before it was recorded; its ID is not known then."""
    _lose_the_answer(here)
    (here.folder / "key.new").write_text("pk_new_1\n")
    os.utime(here.folder / "key.new", (NOW.timestamp(), NOW.timestamp()))
    here.now = here.service.now = NOW + timedelta(hours=hours)

    rotated = here.rotate()

    assert here.key_file.read_text() == "pk_new_1\n"
    assert (rotated.rotation.new_key_id, rotated.rotation.previous_key_expires_at) == (None, None)
    assert rotated.rotation.old_key_ends_at == NOW + timedelta(hours=72)


@pytest.mark.parametrize("hours", [-1000, 1000])
def test_a_clock_that_jumps_loses_nothing(here: Installation, hours: int) -> None:
    """The service decides what is too late, by its own clock."""
    _lose_the_answer(here)
    here.now += timedelta(hours=hours)

    here.rotate()

    assert here.key_file.read_text() == "pk_new_1\n"


def test_a_key_file_that_is_a_link_stays_one(here: Installation) -> None:
    """The file that it leads to is replaced."""
    (here.folder / "secrets").mkdir()
    target = here.key_file.rename(here.folder / "secrets" / "partner-key")
    here.key_file.symlink_to(target)

    here.rotate()

    assert here.key_file.is_symlink()
    assert target.read_text() == "pk_new_1\n"


@pytest.mark.parametrize(
    ("refused_trials", "answers", "waits"),
    [
        (3, [], [1.0, 2.0, 4.0]),  # gateways know keys with a delay
        (0, [Scripted(status=429, remaining=0, retry_after=900_000.0)], []),  # only a known key has a quota
    ],
)
def test_a_new_key_takes_its_place_when_the_service_knows_it(
    here: Installation, refused_trials: int, answers: list[Scripted], waits: list[float]
) -> None:
    """The old key ends in three days, whatever the quota does."""
    here.service.refused_trials, here.service.script[Call.USAGE] = refused_trials, answers

    here.rotate()

    assert (here.waits, here.key_file.read_text()) == (waits, "pk_new_1\n")


def test_a_new_key_that_is_refused_replaces_nothing(here: Installation) -> None:
    """It waits beside the old one; when the service knows it, the same command goes on without another rotation."""
    here.service.refused_trials = 99

    with pytest.raises(RotationUnfinished, match=r"waits in .*key\.new"):
        here.rotate()
    here.service.refused_trials = 0
    before = here.service.calls.count(Call.ROTATE)
    assert here.key_file.read_text() == f"{OLD}\n"
    here.rotate()

    assert here.key_file.read_text() == "pk_new_1\n"
    assert here.service.calls.count(Call.ROTATE) == before == 1


@pytest.mark.parametrize("forgotten", ["previousKeyExpiresAt", "keyId", "name"])
def test_an_answer_that_lacks_a_part_loses_no_key(here: Installation, forgotten: str) -> None:
    """What the service does not say is null; the end of the old key is then that of the contract."""
    here.service.forgotten = {forgotten}

    rotated = here.rotate()

    assert here.key_file.read_text() == "pk_new_1\n"
    assert rotated.rotation.old_key_ends_at == NOW + timedelta(hours=72)


def test_a_third_key_that_somebody_put_in_place_is_not_replaced(here: Installation) -> None:
    """A person changed the file while the rotation was at work."""
    command = here.command()
    here.service.on_call = lambda call: here.key_file.write_text("pk_third\n") if call is Call.USAGE else None

    with pytest.raises(RotationUnfinished, match="third key"):
        command()

    assert here.key_file.read_text() == "pk_third\n"
    assert (here.folder / "key.new").read_text() == "pk_new_1\n"


@pytest.mark.parametrize(
    ("name", "new_key_file", "why"),
    [
        ("next", "next", "holds another key already"),  # it may be a key that is needed
        ("key.new", None, "no rotation of the key in use"),  # the store of its rotation was forgotten
        ("results", None, "is a file"),  # without the intent on disk there is no call
    ],
)
def test_what_is_in_the_way_is_found_before_the_call(
    here: Installation, name: str, new_key_file: str | None, why: str
) -> None:
    here.new_key_file = None if new_key_file is None else here.folder / new_key_file
    (here.folder / name).write_text("pk_other")

    with pytest.raises((ConfigError, ResultsError), match=why):
        here.rotate()

    assert ((here.folder / name).read_text(), here.service.calls) == ("pk_other", [])


@pytest.mark.parametrize("step", [Call.ROTATE, Call.USAGE, "promote"])
def test_of_two_commands_at_once_one_gives_way(
    here: Installation, monkeypatch: pytest.MonkeyPatch, step: Call | str
) -> None:
    """It does nothing, and says who is at work; also when it finds the new key in its place, not yet recorded."""
    promote, met = KeyStore.promote, list[object]()

    def meet(now: Call | str) -> None:
        if now == step and not met:
            met.append(now)
            with pytest.raises(RunIsActive):
                here.command()()

    here.service.on_call = meet
    monkeypatch.setattr(KeyStore, "promote", lambda key_store: [promote(key_store), meet("promote")])

    here.rotate()

    assert (met, here.key_file.read_text(), here.service.minted) == ([step], "pk_new_1\n", ["pk_new_1"])
    assert len(here.results.table("rotations", here.results.all_parts("rotations"))) == 1
    assert len(here.receipts()) == 1


def test_a_command_that_slept_while_another_one_finished_records_nothing_twice(
    here: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It slept right before it took the lease."""
    second, leg_of = here.command(), Operator.leg_of

    def leg_of_late(operator: Operator, operation: Operation, facts: Row) -> AbstractContextManager[OperationLeg]:
        monkeypatch.undo()
        here.command()()
        return leg_of(operator, operation, facts)

    monkeypatch.setattr(Operator, "leg_of", leg_of_late)

    second()

    assert (here.key_file.read_text(), here.service.minted) == ("pk_new_1\n", ["pk_new_1"])
    assert len(here.results.table("rotations", here.results.all_parts("rotations"))) == 1


def test_a_damaged_intent_is_named(here: Installation) -> None:
    """Without it an interrupted rotation would be asked for with another Idempotency-Key."""
    name = f"_keys/{fingerprint(SecretStr(OLD))}-rotation.json"
    here.results.store.create(name, b'{"operation_id": "x"}')

    with pytest.raises(ResultsError, match=r"rotation\.json .* is damaged"):
        here.rotate()

    assert here.service.calls == []


def test_a_key_with_an_acl_is_not_replaced(here: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its mode says less than it seems to; the line says where the new key can go."""
    monkeypatch.setattr(os, "listxattr", lambda _file: ["system.posix_acl_access"])

    with pytest.raises(ConfigError, match=r"or an ACL.*--new-key-file.*nothing was rotated"):
        here.rotate()

    assert here.service.calls == []
    assert sorted(path.name for path in here.folder.iterdir()) == ["key"]
