"""Whatever a service does during a run: no row is lost or doubled, or failed by what fails for every item."""

import hashlib
import threading
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from ..servers.foreign_service import Answer, ForeignService
from ..worlds.core import set_chosen
from ..worlds.foreign_world import ForeignWorld

HTML = b"<html><body>502 Oops</body></html>"
UNEXPECTED_ANSWERS = (
    ({"verdict": "Valid"}, ("rejected", "unknown_verdict")),
    ({"verdict": "", "good": False}, ("rejected", "unknown_verdict")),
    ({"verdict": "tampered"}, ("rejected", "contradictory_answer")),
    ({"good": False}, ("rejected", "contradictory_answer")),
)
ANSWERS_WITHOUT_A_VERDICT = ({"good": 1}, {"verdict": ["valid"]}, {"verdict": None, "good": None})


@pytest.fixture
def world(bare_world: ForeignWorld) -> ForeignWorld:
    """A world without Prefect, but for commands."""
    return bare_world


def outcomes(world: ForeignWorld) -> Counter[tuple[object, object]]:
    return Counter((row["outcome"], row["reason"]) for row in world.rows())


def recover(world: ForeignWorld) -> str:
    """Let the service work again, and work on the next leg; say how it ended."""
    world.service.changes.clear()
    return world.verify(str(world.folder / "catalog.csv"))


def test_a_file_that_storage_takes_in_part_is_sent_again(world: ForeignWorld) -> None:
    """Its 204 after 128 KiB of 8 MB counts for nothing, even if the service then calls the part valid."""
    catalog = world.catalog("valid")
    with (world.folder / "0.wav").open("ab") as audio:
        audio.write(bytes(8_000_000))
    world.service.taken_in_part = 1
    valid = {"good": True, "verdict": "valid"}
    world.service.changes["verify"] = lambda _number, usual: replace(usual, status=200, document=valid)

    ended_by = world.verify(catalog)

    (row,) = world.rows()
    slots = [each for each in world.table("exchanges") if each["call"] == "slot"]
    assert (ended_by, row["outcome"], row["calls"]) == ("complete", "accepted", 3)
    assert row["audio_sha256"] == hashlib.sha256((world.folder / "0.wav").read_bytes()).hexdigest()
    assert [(each["status"], each["failure"]) for each in slots] == [(204, "bad_answer"), (200, None)]
    assert slots[0]["bytes_sent"] < 8_000_000 < slots[1]["bytes_sent"]


def test_a_verify_that_is_refused_fails_its_row_alone(world: ForeignWorld) -> None:
    """At once where the same bytes would be refused again; after more uploads where the upload may be lost."""
    once, twice, later = (413, 422), (400,), (404, 409, 410)

    def refuse(_number: int, usual: Answer) -> Answer:
        verdict = str(usual.document["verdict"])
        return replace(usual, status=int(verdict), document=HTML) if verdict.isdigit() else usual

    world.service.changes["verify"] = refuse
    ended_by = world.verify(world.catalog(*map(str, once + twice + later), "valid"))

    *refused, accepted = world.rows()
    assert (ended_by, accepted["outcome"]) == ("complete", "accepted")
    assert [(row["outcome"], row["reason"], row["http_status"]) for row in refused] == [
        ("failed", f"http_{status}", status) for status in once + twice + later
    ]
    assert [(row["verify_attempts"], row["calls"]) for row in refused[:3]] == [(1, 2), (1, 2), (2, 4)]
    # Storage that loses uploads for a while brings such an answer for a good file too: one try is not believed.
    assert all(8 <= row["calls"] <= 28 for row in refused[3:])
    assert {(row["verdict"], row["error_code"]) for row in refused} == {(None, None)}


def test_an_answer_that_is_not_exactly_valid_is_never_accepted(world: ForeignWorld) -> None:
    """It has its outcome and reason, and is not requested again. An announced end is in the leg, whatever its text."""
    unexpected, sunset = [members for members, _ in UNEXPECTED_ANSWERS], {"sunset": "in 2027, perhaps"}
    world.service.changes["verify"] = lambda n, usual: replace(
        usual, document=usual.document | dict(enumerate(unexpected)).get(n, {}), headers=sunset if n == 3 else {}
    )

    ended_by = world.verify(world.catalog(*["valid"] * len(unexpected)))

    assert ended_by == "complete"
    assert outcomes(world) == Counter(wanted for _, wanted in UNEXPECTED_ANSWERS)
    assert world.service.received["verify"] == len(unexpected)
    assert [leg["sunset"] for leg in world.legs()] == ["in 2027, perhaps"]


def test_an_answer_without_a_verdict_says_nothing_of_the_file(world: ForeignWorld) -> None:
    """It is asked for again, as if it had been lost, and the audit trail has it as a failure."""
    unusable = dict(enumerate(ANSWERS_WITHOUT_A_VERDICT))
    world.service.changes["verify"] = lambda n, usual: replace(usual, document=usual.document | unusable.get(n, {}))

    ended_by = world.verify(world.catalog("valid"))

    (row,) = world.rows()
    asked = [each["failure"] for each in world.table("exchanges") if each["call"] == "verify"]
    assert (ended_by, row["outcome"], asked) == ("complete", "accepted", ["bad_answer"] * 3 + [None])


GONE = {"X-RATELIMIT-REMAINING": "0"}


@pytest.mark.parametrize(
    ("call", "throttle", "usage", "ended_by"),
    [
        ("uploads", GONE, {"headers": GONE}, "quota"),
        ("verify", GONE, {"headers": GONE, "status": 429}, "quota"),
        ("uploads", {"Retry-After": "86400"}, {}, "breaker"),
        ("uploads", {}, {}, "breaker"),
    ],
)
def test_the_ending_tells_a_spent_quota_from_a_closed_lane(
    world: ForeignWorld,
    monkeypatch: pytest.MonkeyPatch,
    *,
    call: str,
    throttle: dict[str, str],
    usage: dict[str, Any],
    ended_by: str,
) -> None:
    """A spent quota shows in the usage, whose call is charged and may be refused too; a closed lane is an outage."""
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "1")  # so three files are finished when the fourth is refused
    set_chosen(monkeypatch, most_pause_seconds=0.5)  # the next leg keeps to a pause that the first was told
    refused = Answer(429, HTML, headers=throttle)
    world.service.changes[call] = lambda number, usual: usual if number < 3 else refused
    world.service.changes["usage"] = lambda n, usual: replace(usual, **usage) if n > 1 else usual
    stopped = world.verify(world.catalog(*["valid"] * 20))
    outcomes_then = outcomes(world)

    resumed = recover(world)

    assert (stopped, resumed) == (ended_by, "complete")
    assert outcomes_then == {("accepted", None): 3}
    assert [row["manifest_row"] for row in world.rows()] == list(range(20))
    assert sum(leg["calls"] for leg in world.legs()) + 1 == world.service.charged  # the plan's own


@pytest.mark.parametrize("call", ["uploads", "verify"])
def test_one_long_wait_among_successes_is_its_own_calls(
    world: ForeignWorld, monkeypatch: pytest.MonkeyPatch, *, call: str
) -> None:
    """Other files go on, and this one is asked about again: one busy node of a gateway ends no night."""
    monkeypatch.setenv("PROOFSWEEP_RETRY__LONGEST_WAIT_SECONDS", "0.2")
    down = Answer(503, HTML, headers={"Retry-After": "300"})
    world.service.changes[call] = lambda number, usual: down if number == 3 else usual

    ended_by = world.verify(world.catalog(*["valid"] * 12))

    assert (ended_by, outcomes(world)) == ("complete", {("accepted", None): 12})


def test_a_leg_names_the_address_that_it_called(
    bare_world: ForeignWorld, service: ForeignService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A partner that moved has a rate limit of its own, and a run may go on there."""
    monkeypatch.setenv("PROOFSWEEP_BOUNDS__MAX_CALLS", "6")
    stopped = bare_world.verify(catalog := bare_world.catalog(*["valid"] * 6))
    monkeypatch.delenv("PROOFSWEEP_BOUNDS__MAX_CALLS")
    (binding,) = bare_world.results.glob("_keys/*")
    binding.unlink()
    moved = service.base_url.replace("127.0.0.1", "localhost")
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", moved)

    resumed = bare_world.verify(catalog)

    assert (stopped, resumed) == ("window", "complete")
    hosts = [leg["base_url_host"] for leg in bare_world.legs()]
    assert hosts == [service.base_url.split("/")[2], moved.split("/")[2]]


def test_a_429_without_any_header_is_waited_for(world: ForeignWorld) -> None:
    """No Retry-After, no quota headers, an HTML body: it is still a 429, and no failure."""
    busy = Answer(429, HTML)
    world.service.changes |= dict.fromkeys(("uploads", "verify"), lambda n, usual: busy if n % 5 == 0 else usual)
    world.service.changes["usage"] = lambda n, usual: busy if n == 1 else usual  # the leg's first; 0 is the plan's

    ended_by = world.verify(world.catalog(*["valid"] * 10))

    (leg,) = world.legs()
    assert ended_by == "complete"
    assert leg["throttled"] == sum(one.status == 429 for one in world.service.sent)


def test_a_key_that_is_rotated_during_a_run_is_used(world: ForeignWorld) -> None:
    """The old key is refused, and the key file has the new one: no row fails, and no verify is repeated."""

    def rotate(number: int, usual: Answer) -> Answer:
        if number == 4:
            world.key_file.write_text("the-next-key")
            world.service.keys = {"the-next-key"}
        return usual

    world.service.changes["verify"] = rotate
    ended_by = world.verify(world.catalog(*["valid"] * 20))

    assert ended_by == "complete"
    assert [row["manifest_row"] for row in world.rows()] == list(range(20))
    assert world.service.received["verify"] == 20


def test_a_key_that_is_refused_during_a_run_leaves_the_rest_for_later(world: ForeignWorld) -> None:
    """Within a few calls; with another key in the file, the next leg does the rest."""

    def refuse(number: int, usual: Answer) -> Answer:
        if number == 4:
            world.service.keys = {"the-next-key"}
        return usual

    world.service.changes["verify"] = refuse
    stopped = world.verify(world.catalog(*["valid"] * 30))
    outcomes_then = outcomes(world)
    refused = [row for row in world.table("exchanges") if row["status"] == 403]
    probes = [row for row in refused if row["manifest_row"] is None]
    world.key_file.write_text("the-next-key\n")

    ended_by = recover(world)

    assert (stopped, ended_by) == ("key_refused", "complete")
    assert set(outcomes_then) == {("accepted", None)}
    assert len(refused) - len(probes) <= 16  # one for each file in flight
    assert len(probes) <= 2
    assert len(world.rows()) == 30


def test_a_run_waits_for_a_service_that_restarts(world: ForeignWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """All connections are reset and then refused for a time: each row is accepted once."""
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "60")
    monkeypatch.setenv("PROOFSWEEP_RETRY__LONGEST_WAIT_SECONDS", "0.5")

    def restart() -> None:
        world.service.close()
        time.sleep(0.5)  # how long the service is down
        world.service.open()

    def crash(number: int, usual: Answer) -> Answer:
        if number == 4:
            threading.Thread(target=restart).start()
        return usual

    world.service.changes["verify"] = crash
    ended_by = world.verify(world.catalog(*["valid"] * 30))

    assert ended_by == "complete"
    assert outcomes(world) == {("accepted", None): 30}
    assert any(row["failure"] == "connection" for row in world.table("exchanges"))


@pytest.mark.parametrize(
    ("call", "wrong", "code"),
    [
        ("health", {"status": 500, "document": HTML}, 8),
        ("health", {"document": HTML}, 2),
        ("health", {"document": {"ok": False}}, 8),
        ("usage", {"status": 403, "document": {"error": "No.", "code": "forbidden"}}, 7),
        ("usage", {"status": 429, "headers": {"X-RateLimit-Remaining": "0"}}, 5),
    ],
)
def test_an_unusable_service_is_reported_before_anything_is_written(
    world: ForeignWorld, call: str, wrong: dict[str, Any], code: int
) -> None:
    """The right exit code, and no results folder."""
    world.service.changes[call] = lambda _, usual: replace(usual, **wrong)

    assert world.run("verify", world.catalog("valid")) == code
    assert not world.results.exists()
    assert world.service.received["uploads"] == 0


@pytest.mark.parametrize(
    ("call", "wrong", "times"),
    [
        ("health", {"status": 503}, 6),
        ("usage", {"status": 429, "headers": {"Retry-After": "90000"}}, 99),
        ("usage", {"status": 403, "document": HTML}, 99),
    ],
)
def test_what_fails_before_the_first_file_ends_no_run(
    world: ForeignWorld, call: str, wrong: dict[str, Any], times: int
) -> None:
    """A run waits for a service before its first file as long as after it, also one that is resumed.

    A usage call may have a lane of its own: if it is throttled for a day, the quota is unknown. So it is if a firewall
    refuses that call alone: a 403 without an error code says nothing of the key.
    """
    world.service.changes[call] = lambda number, usual: replace(usual, **wrong) if number < times else usual

    world.verify(world.catalog("valid", "valid"))

    (leg,) = world.legs()
    assert (leg["ended_by"], leg["accepted"]) == ("complete", 2)
    assert (leg["quota_before"], leg["quota_after"]) == (None, None)
    assert call == "usage" or world.service.received["health"] >= 7


@pytest.mark.parametrize("command", ["doctor", "plan"])
def test_a_command_that_only_looks_does_not_wait_for_a_service(
    world: ForeignWorld, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person waits for it: two attempts, and then the finding."""
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "60")
    world.service.changes["health"] = lambda _, usual: replace(usual, status=503, document=HTML)

    code = world.run(*([command] if command == "doctor" else [command, world.catalog("valid")]))

    assert code == (8 if command == "doctor" else 0)
    assert world.service.received["health"] == 2
