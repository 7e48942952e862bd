"""Whatever a service does in the middle of a run: no row is lost, doubled, or blamed for what was everybody's."""

import threading
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

World = Any
Says = Any

HTML = b"<html><body>502 Oops</body></html>"
ODD_ANSWERS = (
    ({"verdict": "Valid"}, ("rejected", "unknown_verdict")),
    ({"verdict": "", "good": False}, ("rejected", "unknown_verdict")),
    ({"verdict": "tampered"}, ("rejected", "contradictory_answer")),
    ({"good": False}, ("rejected", "contradictory_answer")),
    ({"good": 1}, ("failed", "bad_answer")),
    ({"verdict": ["valid"]}, ("failed", "bad_answer")),
    ({"verdict": None, "good": None}, ("failed", "bad_answer")),
)
BREAKS = ("unanswered", "in_headers", "in_body")


def outcomes(world: World) -> Counter[tuple[object, object]]:
    """Count the rows by outcome and reason."""
    return Counter((row["outcome"], row["reason"]) for row in world.rows())


def heal(world: World) -> int:
    """Let the service be itself again, and go on with the run; give the exit code."""
    world.service.twists.clear()
    return int(world.run("resume"))


def test_connections_that_break_at_every_point_cost_tries_and_no_row(world: World) -> None:
    """Before the answer, in its head and in its body, in each call of the core flow."""

    def sometimes(number: int, usual: Says) -> Says:
        return replace(usual, breaks=BREAKS[number % 3]) if number % 7 == 3 else usual

    world.service.twists |= dict.fromkeys(("uploads", "slot", "verify"), sometimes)

    code = world.run("verify", world.catalog(*["valid"] * 20))

    assert code == 0
    assert [row["manifest_row"] for row in world.rows()] == list(range(20))
    assert world.service.ids() <= {row["request_id"] for row in world.table("exchanges")}


@pytest.mark.parametrize(
    "spoilt",
    [
        {"status": 404, "document": HTML},
        {"status": 307, "document": b"", "headers": {"Location": "/elsewhere"}},
        {"document": {"uploadId": 7, "url": None}},
        {"document": b'{"uploadId": "7", "url": "http://[nowhere/", "fields": {}}'},
    ],
)
def test_slots_that_nobody_gets_leave_every_row_for_later(world: World, spoilt: dict[str, Any]) -> None:
    """Asking for a slot says nothing of an item, so no item fails by it: exit 8, and later all are accepted."""
    world.service.twists["uploads"] = lambda number, usual: usual if number < 3 else replace(usual, **spoilt)
    stopped = world.run("verify", world.catalog(*["valid"] * 20))
    then = {row["outcome"] for row in world.rows()}

    code = heal(world)

    assert (stopped, then, code) == (8, {"accepted"}, 0)
    assert [row["manifest_row"] for row in world.rows()] == list(range(20))


@pytest.mark.parametrize("status", [404, 413, 422])
def test_an_upload_that_is_refused_for_good_fails_its_row_alone(world: World, status: int) -> None:
    """Undocumented codes of POST /verify are one row's outcome, after one fresh upload."""

    def refuse(number: int, usual: Says) -> Says:
        return replace(usual, status=status, document=HTML) if number in {0, 1} else usual

    world.service.twists["verify"] = refuse
    code = world.run("verify", world.catalog("valid"))

    (row,) = world.rows()
    assert code == 4
    assert (row["outcome"], row["reason"], row["http_status"]) == ("failed", f"http_{status}", status)
    assert (row["verify_attempts"], row["calls"], row["verdict"], row["error_code"]) == (2, 4, None, None)


def test_an_answer_that_is_no_plain_valid_is_never_accepted(world: World) -> None:
    """It is stored as received, has its place, and is not asked for again."""
    odd = [members for members, _ in ODD_ANSWERS]
    world.service.twists["verify"] = lambda n, usual: replace(usual, document=usual.document | odd[n])

    code = world.run("verify", world.catalog(*["valid"] * len(odd)))

    assert code == 4
    assert outcomes(world) == Counter(wanted for _, wanted in ODD_ANSWERS)
    assert world.service.asked["verify"] == len(odd)


@pytest.mark.parametrize(
    ("throttle", "usage", "code"),
    [
        ({"X-RATELIMIT-REMAINING": "0"}, {"x-ratelimit-remaining": "0"}, 5),
        ({"Retry-After": "86400"}, {"x-ratelimit-remaining": "0"}, 5),
        ({"Retry-After": "86400"}, {}, 8),
        ({"X-RateLimit-Remaining": "0", "Retry-After": "0"}, {"X-RateLimit-Remaining": "99"}, 8),
        ({}, {}, 8),
    ],
)
def test_throttling_without_end_ends_the_run_as_what_it_is(
    world: World, throttle: dict[str, str], usage: dict[str, str], code: int
) -> None:
    """A quota that is used up is told by the usage; a lane that stays closed is a service that is down."""

    def three_and_no_more(number: int, usual: Says) -> Says:
        if number < 3:
            return usual
        world.wait_for(lambda: sum(given.call == "verify" for given in world.service.given) == 3)
        return world.service.says(429, HTML, headers=throttle)

    world.service.twists["uploads"] = three_and_no_more
    world.service.twists["usage"] = lambda n, usual: replace(usual, headers=usage if n else {})
    stopped = world.run("verify", world.catalog(*["valid"] * 20))
    then = outcomes(world)

    resumed = heal(world)

    assert (stopped, resumed) == (code, 0)
    assert then == {("accepted", None): 3}
    assert [row["manifest_row"] for row in world.rows()] == list(range(20))
    assert sum(leg["calls"] for leg in world.legs()) == world.service.charged


def test_a_usage_that_is_throttled_itself_tells_the_quotas_end(world: World) -> None:
    """It is a keyed call like any other, and its own header is the authoritative one."""
    gone = world.service.says(429, {"code": "rate_limited"}, headers={"X-RateLimit-Remaining": "0"})
    world.service.twists |= {
        "verify": lambda n, usual: usual if n < 3 else gone,
        "usage": lambda n, usual: gone if n else usual,
    }

    stopped = world.run("verify", world.catalog(*["valid"] * 20))

    assert (stopped, len(world.rows())) == (5, 3)
    assert heal(world) == 0


def test_a_throttle_without_a_word_is_waited_out(world: World) -> None:
    """No Retry-After, no quota headers, an HTML body: still a 429, and no failure."""
    busy = world.service.says(429, HTML)
    world.service.twists |= dict.fromkeys(
        ("uploads", "verify", "usage"), lambda n, usual: busy if n % 5 == 0 else usual
    )

    code = world.run("verify", world.catalog(*["valid"] * 20))

    (leg,) = world.legs()
    assert code == 0
    assert leg["throttled"] == sum(one.status == 429 for one in world.service.given)


def test_a_key_that_is_rotated_in_mid_run_takes_over(world: World) -> None:
    """The old one is refused, the file holds the new one: nobody notices, and nothing is spent twice."""

    def rotate(number: int, usual: Says) -> Says:
        if number == 4:
            world.key_file.write_text("the-next-key")
            world.service.keys = {"the-next-key"}
        return usual

    world.service.twists["verify"] = rotate
    code = world.run("verify", world.catalog(*["valid"] * 20))

    assert code == 0
    assert [row["manifest_row"] for row in world.rows()] == list(range(20))
    assert world.service.asked["verify"] == 20


def test_a_key_that_is_refused_in_mid_run_leaves_the_rest_for_later(world: World) -> None:
    """Exit 7 within a few calls; with another key in the file, `resume` does the rest."""

    def refuse(number: int, usual: Says) -> Says:
        if number == 4:
            world.service.keys = {"the-next-key"}
        return usual

    world.service.twists["verify"] = refuse
    stopped = world.run("verify", world.catalog(*["valid"] * 30))
    then = outcomes(world)
    refusals = sum(row["status"] == 403 for row in world.table("exchanges"))
    world.key_file.write_text("the-next-key\n")

    code = heal(world)

    assert (stopped, code) == (7, 0)
    assert set(then) == {("accepted", None)}
    assert refusals <= 16
    assert len(world.rows()) == 30


def test_a_service_that_is_restarted_in_mid_run_is_waited_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """All connections are reset and refused for a moment: every row is accepted, none twice."""
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "60")
    monkeypatch.setenv("PROOFSWEEP_RETRY__LONGEST_WAIT_SECONDS", "0.5")

    def restart() -> None:
        world.service.shut()
        time.sleep(0.5)
        world.service.open()

    def crash(number: int, usual: Says) -> Says:
        if number == 4:
            threading.Thread(target=restart).start()
        return usual

    world.service.twists["verify"] = crash
    code = world.run("verify", world.catalog(*["valid"] * 30))

    assert code == 0
    assert outcomes(world) == {("accepted", None): 30}
    assert any(row["failure"] == "connection" for row in world.table("exchanges"))


def test_an_answer_that_never_comes_is_asked_for_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read timeout is one try lost; the connection it was on is not used again."""
    monkeypatch.setenv("PROOFSWEEP_TIMEOUTS__READ_SECONDS", "0.5")
    world.service.twists["verify"] = lambda n, usual: time.sleep(1.5) or usual if n == 2 else usual

    code = world.run("verify", world.catalog(*["valid"] * 5))

    assert code == 0
    assert sorted(row["verify_attempts"] for row in world.rows()) == [1, 1, 1, 1, 2]
    assert Counter(row["failure"] for row in world.table("exchanges"))["timeout"] == 1


def test_a_breaking_change_that_is_announced_is_in_the_runs_row(world: World) -> None:
    """Contract, Versioning 3: also when only one call says so, and in whatever words."""
    world.service.twists["verify"] = lambda _, usual: replace(usual, headers={"sunset": "in 2027, perhaps"})

    world.run("verify", world.catalog("valid"))

    assert [leg["sunset"] for leg in world.legs()] == ["in 2027, perhaps"]


@pytest.mark.parametrize(
    ("call", "spoilt", "code"),
    [
        ("health", {"status": 500, "document": HTML}, 8),
        ("health", {"status": 429, "document": HTML}, 8),
        ("health", {"document": HTML}, 2),
        ("health", {"breaks": "unanswered"}, 8),
        ("usage", {"status": 404, "document": HTML}, 2),
        ("usage", {"status": 403, "document": HTML}, 7),
        ("usage", {"status": 429, "headers": {"X-RateLimit-Remaining": "0"}}, 5),
        ("usage", {"status": 429, "headers": {"Retry-After": "90000"}}, 8),
    ],
)
def test_a_service_that_cannot_be_worked_with_is_told_before_anything_is_written(
    world: World, call: str, spoilt: dict[str, Any], code: int
) -> None:
    """One line, the right code, and no results folder."""
    world.service.twists[call] = lambda _, usual: replace(usual, **spoilt)

    assert world.run("verify", world.catalog("valid")) == code
    assert not world.results.exists()
    assert world.service.asked["uploads"] == 0
