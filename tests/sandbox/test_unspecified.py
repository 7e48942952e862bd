import base64
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import httpx
import pytest

import proofsweep_sandbox as sandbox
from proofsweep_sandbox.unspecified import Unspecified, markdown_of_unspecified

Issue = Callable[..., sandbox.Issued]
SEEDS = range(20)
GUIDE = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text()
GRADE = {"human", "ai", "unknown", "riskCategory", "rubricVersion"}
REPORTED = {"classification", "grade", "interpretation", "embeddedCredential"}


@pytest.fixture(params=[*SEEDS, "later"])
def seed(request: pytest.FixtureRequest, operator: sandbox.Operator) -> Iterator[object]:
    """The shared sandbox with one seed, or as a later release; the default returns after the test."""
    is_later = request.param == "later"
    operator.set_silences(5 if is_later else request.param, evolve=is_later)
    yield request.param
    operator.set_silences()


def test_a_seed_always_draws_the_same_choices() -> None:
    """Seed 0 is the default; two hundred seeds together draw every choice of every field."""
    drawn = [asdict(Unspecified.drawn(number)) for number in range(200)]

    assert Unspecified.drawn(0) == Unspecified()
    assert drawn == [asdict(Unspecified.drawn(number)) for number in range(200)]
    for behaviour in fields(Unspecified):
        choices = behaviour.metadata["choices"]
        assert {repr(each[behaviour.name]) for each in drawn} == {repr(choice) for choice in choices}, behaviour.name
        assert len(choices) > 1


def test_a_new_field_changes_no_other_choice() -> None:
    """Each choice is drawn by its field's name, so a seed keeps its meaning."""

    @dataclass(frozen=True, kw_only=True)
    class More(Unspecified):
        one_more: int = field(default=1, metadata={"choices": (1, 2)})

    drawn = asdict(More.drawn(7))

    assert asdict(Unspecified.drawn(7)).items() <= drawn.items()
    assert "one_more" in drawn


def test_the_guide_lists_every_unspecified_behaviour() -> None:
    """The table in the guide comes from the code."""
    assert markdown_of_unspecified() in GUIDE


def test_the_operator_can_read_the_drawn_choices(tmp_path: Path) -> None:
    """The choices can be read, to reproduce a failure."""
    options = sandbox.Options(home=tmp_path, silences=4, evolve=True)

    with sandbox.launch(tmp_path, options=options) as running:
        choices = running.operator.silences()

    expected = {
        name: list(each) if isinstance(each, tuple) else each for name, each in asdict(Unspecified.drawn(4)).items()
    }
    assert choices == {"choices": expected, "evolve": True}


@pytest.mark.usefixtures("seed")
def test_every_answer_has_its_ids_and_every_error_is_an_api_error(api: httpx.Client, keyless: httpx.Client) -> None:
    """Contract, Errors 1, 7 and Authentication 3, with every seed."""
    answers = {
        "health": (keyless.get("/health"), {200}),
        "no key": (keyless.get("/proofs"), {403}),
        "no such proof": (api.get("/proofs/none"), {404}),
        "bad limit": (api.get("/proofs", params={"limit": 0}), {400}),
        "no upload": (api.post("/verify", json={"uploadId": "none"}), {400, 404, 410, 422}),
        "no uploadId": (api.post("/verify", json={}), {400}),
    }

    for name, (answer, statuses) in answers.items():
        assert answer.status_code in statuses, name
        assert answer.headers["x-request-id"] == answer.headers["x-amzn-requestid"] != "", name
        if answer.is_error:
            body = answer.json()
            assert isinstance(body["error"], str), name
            assert isinstance(body["code"], str), name


@pytest.mark.usefixtures("seed")
def test_a_throttled_call_says_how_long_and_how_much(api: httpx.Client, operator: sandbox.Operator) -> None:
    """Contract, Errors 5: `rate_limited`, Retry-After, and the three quota headers."""
    operator.set_lane(0.1, 1)
    api.post("/uploads")

    throttled = api.post("/uploads")

    assert (throttled.status_code, throttled.json()["code"]) == (429, "rate_limited")
    assert int(throttled.headers["retry-after"]) >= 0
    assert all(int(throttled.headers[f"x-ratelimit-{name}"]) > 0 for name in ("limit", "remaining", "reset"))


@pytest.mark.usefixtures("seed")
def test_a_proof_is_verified_listed_fetched_and_erased(api: httpx.Client, keyless: httpx.Client, issue: Issue) -> None:
    """Every stated member has its stated type, with every seed."""
    issued = issue(song="Intro")

    answer = _verified(api, keyless, issued.audio.read_bytes())
    (item,) = api.get("/proofs").json()["items"]
    record = api.get(f"/proofs/{issued.proof_id}").json()
    outcomes = [api.delete(f"/proofs/{issued.proof_id}").json() for _ in range(2)]

    assert {"proofId": issued.proof_id, "song": "Intro", "issuedAt": issued.issued_at}.items() <= answer.items()
    assert (answer["good"], answer["verdict"]) == (True, "valid")
    assert all(isinstance(answer[name], dict) for name in REPORTED & answer.keys() - {"classification"})
    assert answer.get("embeddedCredential", {"publiclyTrusted": False})["publiclyTrusted"] is False
    assert answer.get("grade", dict.fromkeys(GRADE)).keys() >= GRADE
    assert (item["proofId"], item["hasFeedback"]) == (issued.proof_id, False)
    assert {"song", "classification"} <= record.keys()
    assert base64.b64decode(record["sidecar"])
    assert [outcome["outcome"] for outcome in outcomes] == ["erased", "already_erased"]
    assert all(isinstance(outcome["erasedAt"], int) for outcome in outcomes)


@pytest.mark.usefixtures("seed")
def test_altered_audio_is_never_good(api: httpx.Client, keyless: httpx.Client, issue: Issue) -> None:
    """A broken binding is `unreadable`, with every seed."""
    audio = bytearray(issue().audio.read_bytes())
    audio[audio.index(b"data") + 8] ^= 0xFF

    answer = _verified(api, keyless, bytes(audio))

    assert (answer["good"], answer["verdict"]) == (False, "unreadable")


@pytest.mark.usefixtures("seed")
def test_usage_has_one_entry_for_each_day(api: httpx.Client) -> None:
    """The header has the remaining quota after this call."""
    answer = api.get("/partner/usage", params={"days": 3})

    days = answer.json()["days"]
    assert len({str(day["date"]) for day in days}) == 3
    assert sum(int(float(day["used"])) for day in days) == 1
    assert answer.headers["x-ratelimit-remaining"] == str(int(answer.json()["plan"]["quotaLimit"]) - 1)


@pytest.mark.usefixtures("seed")
def test_pages_lead_to_the_last_proof(api: httpx.Client, issue: Issue) -> None:
    """The last page has no cursor, for every page size and form of cursor."""
    made = [issue(legacy=True).proof_id for _ in range(4)]

    listed, query = [], {"limit": "2"}
    while True:
        page = api.get("/proofs", params=query).json()
        listed += [item["proofId"] for item in page["items"]]
        if "nextCursor" not in page:
            break
        query["cursor"] = page["nextCursor"]

    assert listed == made[::-1]


@pytest.mark.usefixtures("seed")
def test_a_slot_that_has_expired_stores_nothing(
    api: httpx.Client, keyless: httpx.Client, later: Callable[[float], None]
) -> None:
    """Contract, Endpoints: a non-success status of the storage means that the audio is not stored."""
    slot = api.post("/uploads", params={"purpose": "verify"}).json()
    later(5 * 3600)

    refused = keyless.post(slot["url"], data=slot["fields"], files={"file": os.urandom(8)})
    answer = api.post("/verify", json={"uploadId": slot["uploadId"]})

    assert refused.is_client_error
    assert answer.is_client_error


def test_a_later_release_adds_and_announces(
    api: httpx.Client, keyless: httpx.Client, operator: sandbox.Operator
) -> None:
    """Contract, Versioning: new members, a Sunset header, a new endpoint and new values."""
    operator.set_silences(evolve=True)

    health, keys = keyless.get("/health"), api.get("/partner/keys").json()
    error = api.get("/proofs/none")
    notices = api.get("/partner/notices").json()["notices"]
    operator.set_silences()

    assert isinstance(health.json()["deployedAt"], int)
    assert health.headers["sunset"] == error.headers["sunset"] == notices[0]["sunset"]
    assert keys["addedLater"] == keys["keys"][0]["addedLater"]
    assert keys["keys"][0]["status"] == "in_review"
    assert error.json()["code"] == "not_found_since_2_5"
    assert api.get("/partner/notices").status_code == 404


def _verified(api: httpx.Client, keyless: httpx.Client, audio: bytes) -> dict[str, Any]:
    """Upload and verify audio; return the answer's members."""
    slot = api.post("/uploads", params={"purpose": "verify"}).json()
    stored = keyless.post(slot["url"], data=slot["fields"], files={"file": ("audio", audio)})
    assert stored.is_success, stored.text
    answer = api.post("/verify", json={"uploadId": slot["uploadId"]})
    assert answer.status_code == 200
    members: dict[str, Any] = answer.json()
    return members
