"""The addresses of a server."""

import re
from pathlib import Path

import pytest

from proofsweep.answers.serve.site import Site
from proofsweep.store.plans_and_parts import Results

from .conftest import ENDED, HOSTILE, STOPPED, Browser, Serve, begin


@pytest.fixture
def client(serve: Serve) -> Browser:
    """A server without a token."""
    return serve()


def test_runs_are_listed_with_their_state(client: Browser) -> None:
    """The newest first; each leads to its page."""
    page = client.get("/runs").text

    assert re.findall(r'<a href="/runs/(\w+)">', page) == [STOPPED.run_id, ENDED.run_id]
    assert ">cancelled</td>" in page
    assert "No run is active now." in page


def test_what_others_wrote_is_text(client: Browser) -> None:
    """A catalog's name runs no script, and forges no line."""
    page = client.get("/runs").text

    assert "<script>document" not in page
    assert "\u202e" not in page
    assert "/c/&lt;script&gt;document.title=" in page
    assert HOSTILE not in page


def test_an_active_run_shows_how_far_it_is(client: Browser, results: Results) -> None:
    """On the list, and on its own page; without a token there is no button."""
    plan = begin(results, rate=2.5, seconds_left=90.0, quota_left=1_234, lane_rate=4.0)

    for path in ("/runs", f"/runs/{plan.run_id}"):
        page = client.get(path).text
        assert '<progress max="20" value="7"' in page
        assert "7 of 20 files</strong>, 2.5 files/s, about 1 min 30 s left" in page
        assert "1,234 left in the quota" in page
        assert "/stop" not in page
    assert re.search(r'>7</td>.*data-label="remain">13<', client.get("/runs").text)


def test_a_run_that_is_over_has_the_page_of_its_night(client: Browser, results: Results) -> None:
    """One that goes on has it at an address of its own."""
    active = begin(results)

    assert client.get(f"/runs/{ENDED.run_id}").text == f"<h1>page of {ENDED.run_id}</h1>"
    assert client.get(f"/runs/{active.run_id}/night").text == f"<h1>page of {active.run_id}</h1>"
    assert client.get("/").text == "<h1>page of None</h1>"


@pytest.mark.parametrize(
    "path", ["/runs/nothing", "/runs/..%2f..", "/runs/a/night", "/x", "/runs/%00", "/runs/" + "a" * 999]
)
def test_what_is_not_there_is_a_page_too(client: Browser, path: str) -> None:
    """It leads back."""
    answer = client.get(path)

    assert (answer.status_code, "<h1>Not Found</h1>" in answer.text) == (404, True)


def test_methods_that_no_page_has_are_refused(client: Browser) -> None:
    """HEAD is answered wherever GET is, without a body; also where the body would never end."""
    assert client.request("PUT", "/runs").status_code == 405
    assert client.request("DELETE", "/").status_code == 405
    assert [client.request("HEAD", path).status_code for path in ("/", "/runs", "/events", "/serve.js")] == [200] * 4
    assert client.request("HEAD", "/runs").content == b""


def test_a_store_that_goes_and_comes_back_is_told(client: Browser, results: Results) -> None:
    """The page says so, with a state that no store has, so that the script loads it anew."""
    folder = Path(results.store.url)
    folder.rename(folder.with_name("away"))
    folder.symlink_to(folder)

    away = client.get("/runs")
    folder.unlink()
    folder.with_name("away").rename(folder)

    assert (away.status_code, away.headers["Retry-After"]) == (503, "5")
    assert "cannot be read" in away.text
    assert 'data-state="none yet"' in away.text
    assert client.get("/runs").status_code == 200


def test_thousands_of_runs_have_pages(client: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page leads to the next, and the last one ends."""
    monkeypatch.setattr("proofsweep.answers.serve.pages._RUNS", 1)

    first = client.get("/runs").text
    (older,) = re.findall(r'href="/runs\?before=(\w+)"', first)
    last = client.get("/runs", params={"before": older}).text

    assert (older, ENDED.run_id in first) == (STOPPED.run_id, False)
    assert (ENDED.run_id in last, "before=" in last) == (True, False)


def test_a_bug_is_told_without_its_text(client: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody sees a traceback; the kind of the error is for the report."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(Site, "require_run", fail)
    answer = client.get(f"/runs/{ENDED.run_id}")

    assert answer.status_code == 500
    assert "ZeroDivisionError" in answer.text
    assert "a secret" not in answer.text


def test_the_script_is_small_and_plain(client: Browser) -> None:
    """No framework; the policy lets nothing else run."""
    script = client.get("/serve.js")

    assert script.headers["content-type"].startswith("text/javascript")
    assert script.text.count("\n") < 200
    assert " 'self';" in script.headers["content-security-policy"]
