"""A file is found by anything that a person knows of it."""

import pytest

from proofsweep.store.plans_and_parts import Results

from ...ended_runs import answered, end_leg, plan_of_run
from .conftest import ENDED, Browser, Serve

NAMED = plan_of_run("20261118T020000Z_000aa", items=3, catalog="/c")
EVIL = "</title><script>document.title='hacked'</script>"


@pytest.fixture
def client(serve: Serve, results: Results) -> Browser:
    """A server over a store with an accepted file, a rejected one with a hostile name, and one like the first."""
    known = {"tags": '{"isrc": "QZ-NUL-26-00017", "title": "Blue Green"}', "song": "Song & Co", "proof_id": "pf-77"}
    why = {"verdict": "tampered", "reason": "tampered", "verify_request_id": "req-9"}
    rows = [
        answered(NAMED, 0, "blue", audio="/c/a/blue.wav", verdict="valid", verify_request_id="req-8", **known),
        answered(NAMED, 1, "x/../y?", "rejected", audio=f"/c/{EVIL}.wav", **why),
        answered(NAMED, 2, "blues", audio="/c/a/blues.wav", verdict="valid"),
    ]
    end_leg(results, NAMED, rows)
    return serve()


@pytest.mark.parametrize("words", ["qznul2600017", "/c/a/blue.wav", "blue green", "req-8", "pf-77"])
def test_one_that_fits_is_shown_at_once(client: Browser, words: str) -> None:
    """By a code, a location, a title, a request ID or a proof ID, none of which stands in an address."""
    found = client.post("/files", data={"words": words})
    page = client.get(found.headers["location"]).text

    assert (found.status_code, found.headers["location"]) == (303, "/files/blue")
    for shown in ("/c/a/blue.wav", "QZ-NUL-26-00017", "Song &amp; Co", "Blue Green", "pf-77", NAMED.run_id):
        assert shown in page


def test_several_that_fit_are_listed(client: Browser) -> None:
    """Each leads to its page."""
    page = client.post("/files", data={"words": "blu"}).text

    assert "2 files fit" in page
    assert 'href="/files/blue"' in page
    assert 'href="/files/blues"' in page


def test_a_run_leads_to_its_page(client: Browser) -> None:
    """Whoever has an ID need not know what it is of."""
    assert client.post("/files", data={"words": ENDED.run_id}).headers["location"] == f"/runs/{ENDED.run_id}"


@pytest.mark.parametrize("words", ["no such file", EVIL + "x", "%", "'; DROP TABLE", "\x00", "🎵" * 200])
def test_what_is_not_there_is_said(client: Browser, words: str) -> None:
    """With what to give instead."""
    answer = client.post("/files", data={"words": words})

    assert answer.status_code == 200
    assert "give a file" in answer.text
    assert "<script>document" not in answer.text


def test_the_form_comes_first(client: Browser) -> None:
    """Also for an empty question."""
    for page in (client.get("/files"), client.post("/files", data={"words": " "})):
        assert (page.status_code, 'name="words"' in page.text) == (200, True)


def test_a_hostile_name_is_text(client: Browser) -> None:
    """In the title and in the list; its ID stays one part of the address."""
    address = client.post("/files", data={"words": "req-9"}).headers["location"]
    page = client.get(address).text

    assert address == "/files/x%2F..%2Fy%3F"
    assert "<script>document" not in page
    assert "&lt;/title&gt;" in page
    assert "tampered" in page


def test_an_item_that_is_not_there_is_a_page(client: Browser) -> None:
    """404, as for a run."""
    assert client.get("/files/nothing").status_code == 404
