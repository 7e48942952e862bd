"""What can be done from a page."""

import pytest

from proofsweep.store.plans_and_parts import Results

from .conftest import ENDED, SITE, STOPPED, TOKEN, Browser, Deeds, Serve, begin

STOP, RESUME = f"/runs/{STOPPED.run_id}/stop", f"/runs/{STOPPED.run_id}/resume"
OWN = {"origin": SITE}


@pytest.fixture(autouse=True)
def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong token costs no time here."""
    monkeypatch.setattr("proofsweep.answers.serve.actions._WRONG_TOKEN_SECONDS", 0.0)


@pytest.fixture
def client(serve: Serve) -> Browser:
    """A server with a token, and a browser to which nobody gave it."""
    return serve(TOKEN)


def enter(client: Browser, token: str = TOKEN, then: str = "/") -> int:
    """Enter the token on its page."""
    return client.post("/token", data={"token": token, "next": then}, headers=OWN).status_code


def test_a_run_is_stopped_after_a_question(client: Browser, deeds: Deeds) -> None:
    """Looking stops nothing; the button does, once the token is known."""
    assert 'name="token"' in client.get(STOP).text
    assert enter(client) == 303
    assert "Stop this run?" in client.get(STOP).text
    assert deeds.stopped == []

    done = client.post(STOP, headers=OWN)

    assert (done.status_code, deeds.stopped) == (200, [STOPPED.run_id])
    assert "It was asked to stop." in done.text


def test_the_session_is_for_this_server_alone(client: Browser) -> None:
    """No script reads it, no other site sends it, and it does not hold the token."""
    cookie = client.post("/token", data={"token": TOKEN}, headers=OWN).headers["set-cookie"]

    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert TOKEN not in cookie


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": SITE, "sec-fetch-site": "cross-site"}, 403),
        ({"authorization": "Bearer wrong"}, 401),
    ],
)
def test_another_site_cannot_act_for_somebody_who_gave_the_token(
    client: Browser, deeds: Deeds, headers: dict[str, str], status: int
) -> None:
    """A form elsewhere that names this server is refused, though the browser has a session."""
    enter(client)

    assert client.post(STOP, headers=headers).status_code == status
    assert client.post(RESUME, headers=headers).status_code == status
    assert (deeds.stopped, deeds.resumed) == ([], [])


def test_a_program_acts_with_the_token(client: Browser, deeds: Deeds) -> None:
    """It needs no session and no page."""
    assert client.post(STOP, headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert deeds.stopped == [STOPPED.run_id]


def test_a_wrong_token_opens_nothing(client: Browser, deeds: Deeds) -> None:
    """The page asks again; without a session the button leads to that page."""
    assert enter(client, "wrong") == 403
    again = client.post(STOP, headers=OWN)

    assert (again.status_code, again.headers["location"], deeds.stopped) == (303, STOP, [])


def test_the_token_is_taken_from_the_own_page_alone(client: Browser) -> None:
    """Another site cannot try tokens through somebody's browser."""
    assert client.post("/token", data={"token": TOKEN}).status_code == 403
    assert client.post("/token", data={"token": TOKEN}, headers={"origin": "http://evil.example"}).status_code == 403


@pytest.mark.parametrize("then", ["//evil.example", "http://evil.example", "/\\evil.example", "x", "/a\nb", ""])
def test_the_token_leads_to_no_other_site(client: Browser, then: str) -> None:
    """An address elsewhere is replaced by the first page."""
    answer = client.post("/token", data={"token": TOKEN, "next": then}, headers=OWN)

    assert answer.headers["location"] == "/"


def test_a_form_without_an_end_is_refused(client: Browser) -> None:
    """The server keeps no more than a token needs."""
    assert client.post("/token", content=b"token=" + b"x" * 10_000, headers=OWN).status_code == 413


def test_without_a_token_nobody_acts(serve: Serve, deeds: Deeds) -> None:
    """The server is read-only: no form, and no way around it; the command is shown."""
    client = serve()

    assert client.get(STOP).status_code == 403
    assert client.post(STOP, headers=OWN | {"authorization": "Bearer "}).status_code == 403
    assert f"<pre>proofsweep resume {STOPPED.run_id}</pre>" in client.post(RESUME, headers=OWN).text
    assert (deeds.stopped, deeds.resumed) == ([], [])


def test_a_run_is_resumed_through_prefect_after_a_question(client: Browser, deeds: Deeds) -> None:
    """The page says what does it."""
    enter(client)

    asked, done = client.get(RESUME), client.post(RESUME, headers=OWN)

    assert "The Prefect deployment verify-catalog/nightly verifies the rows that remain." in asked.text
    assert (done.status_code, deeds.resumed) == (200, [STOPPED.run_id])


@pytest.mark.parametrize("trouble", [None, "The Prefect server does not answer."])
def test_without_a_deployment_the_command_is_shown(client: Browser, deeds: Deeds, trouble: str | None) -> None:
    """Also if Prefect does not answer, with the reason."""
    deeds.by, deeds.trouble = None, trouble
    enter(client)

    page = client.post(RESUME, headers=OWN).text

    assert f"<pre>proofsweep resume {STOPPED.run_id}</pre>" in page
    assert (trouble or "") in page
    assert deeds.resumed == []


def test_a_run_that_goes_on_or_is_over_is_not_resumed(client: Browser, results: Results, deeds: Deeds) -> None:
    """The page says why."""
    active = begin(results)
    enter(client)

    for run_id, why in ((active.run_id, "A process works on it."), (ENDED.run_id, "no row remains")):
        answer = client.post(f"/runs/{run_id}/resume", headers=OWN)
        assert (answer.status_code, why in answer.text) == (409, True)
    assert deeds.resumed == []


def test_a_run_that_is_not_there_is_not_stopped(client: Browser, deeds: Deeds) -> None:
    """Before anything is asked of anybody."""
    enter(client)

    assert client.post("/runs/nothing/stop", headers=OWN).status_code == 404
    assert deeds.stopped == []
