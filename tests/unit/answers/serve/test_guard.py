"""What stands before every page."""

import pytest

from .conftest import SITE, TOKEN, Serve

PATHS = ["/", "/runs", "/runs/20261119T020000Z_000aa", "/events", "/serve.js", "/nothing", "/runs/x/stop"]


@pytest.mark.parametrize("path", PATHS)
def test_a_name_of_another_site_sees_nothing(serve: Serve, path: str) -> None:
    """A site whose name leads here (DNS rebinding) cannot read the pages; the answer says what to set."""
    answer = serve().get(path, headers={"host": "evil.example"})

    assert answer.status_code == 421
    assert "serve.url" in answer.text


@pytest.mark.parametrize("path", ["/", "/nothing", "/serve.js", "/token"])
def test_every_answer_has_the_rules_of_the_browser(serve: Serve, path: str) -> None:
    """No inline script, no frame, nothing kept in a cache of a shared machine."""
    headers = serve().get(path).headers

    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0]
    assert "frame-ancestors 'none'" in policy
    assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")
    assert headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize("path", PATHS)
def test_a_guarded_server_shows_nothing_without_its_token(serve: Serve, path: str) -> None:
    """Where other machines reach it, reading needs the token too."""
    answer = serve(TOKEN, guards_reading=True).get(path)

    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert 'name="token"' in answer.text
    assert "/c/" not in answer.text


def test_the_token_opens_a_guarded_server(serve: Serve) -> None:
    """A browser gets a session for it, and goes where it wanted to; a program sends it."""
    client = serve(TOKEN, guards_reading=True)
    asked = client.get("/runs", headers={"accept": "text/html"})

    entered = client.post("/token", data={"token": TOKEN, "next": "/runs"}, headers={"origin": SITE})

    assert 'name="next" value="/runs"' in asked.text
    assert (entered.status_code, entered.headers["location"]) == (303, "/runs")
    assert client.get("/runs").status_code == 200
    client.cookies.clear()
    assert client.get("/runs", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
