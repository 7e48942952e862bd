"""The server of live pages, from the settings."""

import asyncio
import re
from pathlib import Path

import httpx
import pytest

from proofsweep.answers.serve.app import SiteApp
from proofsweep.answers.serve.site import Resumption
from proofsweep.errors import ConfigError
from proofsweep.model.layout import stop_name
from proofsweep.settings import Settings, load_settings
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results
from proofsweep.wiring.serving import site_app, token_for

from ..answers.report.reported_store import PLAN, fill
from ..ended_runs import plan_of_run

TOKEN = "abcdefghijklmnop1234"
KEY = "pk_live_never_to_be_seen"
BY_HAND = Resumption(by=lambda: None, begin=str, command="proofsweep resume {}".format)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A store with two nights; the key's file does not exist, and a variable holds a key."""
    monkeypatch.setenv("PROOFSWEEP_API_KEY", KEY)
    monkeypatch.setenv("PROOFSWEEP_SERVICE__API_KEY_FILE", str(tmp_path / "no key"))
    fill(Results(FolderStore(tmp_path / "results")))
    return load_settings("sandbox", str(tmp_path / "results"))


def get(app: SiteApp, path: str, **facts: object) -> httpx.Response:
    """Ask for a page; with a form, send it."""

    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app.asgi)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client:
            return await client.request("POST" if facts else "GET", path, **facts)  # type: ignore[arg-type]

    return asyncio.run(send())


def content_of(folder: Path) -> dict[str, bytes]:
    """Return all that lies below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_pages_need_no_key_show_none_and_write_nothing(settings: Settings) -> None:
    """The server would be of use to nobody who steals it."""
    before = content_of(Path(settings.results.url))
    app = site_app(settings, "127.0.0.1", BY_HAND)

    pages = [get(app, path) for path in ("/", "/runs", f"/runs/{PLAN.run_id}", f"/runs/{PLAN.run_id}/night", "/x")]

    assert [page.status_code for page in pages] == [200, 200, 200, 200, 404]
    assert PLAN.run_id in pages[2].text
    assert not any(KEY in page.text for page in pages)
    assert content_of(Path(settings.results.url)) == before


def test_a_stop_is_the_one_thing_that_is_written(settings: Settings, tmp_path: Path) -> None:
    """It is for the process that works on the run."""
    results = Results(FolderStore(Path(settings.results.url)))
    plan = plan_of_run("20261121T020000Z_000aa")
    results.write_plan(plan)
    Legs(results, plan.run_id).claim(1)
    claim = Legs(results, plan.run_id).holder(1)
    assert claim is not None
    (tmp_path / "token").write_text(TOKEN)
    before = content_of(Path(settings.results.url))
    app = site_app(settings, "127.0.0.1", BY_HAND, token_file=str(tmp_path / "token"))

    told = get(app, f"/runs/{plan.run_id}/stop", headers={"authorization": f"Bearer {TOKEN}"})
    ended = get(app, f"/runs/{PLAN.run_id}/stop", headers={"authorization": f"Bearer {TOKEN}"})

    assert "was asked to stop" in told.text
    assert "there is nothing to stop" in ended.text
    assert content_of(Path(settings.results.url)).keys() - before.keys() == {stop_name(plan.run_id, 1, claim.token)}


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.9", "catalog.example"])  # noqa: S104 - nothing listens
def test_other_machines_need_a_token_or_a_server_that_only_shows(settings: Settings, tmp_path: Path, host: str) -> None:
    """Neither is refused; with a token they need it to read, and a read-only server has no token at all."""
    (tmp_path / "token").write_text(TOKEN)
    with pytest.raises(ConfigError, match="--read-only"):
        site_app(settings, host, BY_HAND)

    guarded = site_app(settings, host, BY_HAND, token_file=str(tmp_path / "token"))
    shown = site_app(settings, host, BY_HAND, token_file=str(tmp_path / "token"), is_read_only=True)

    assert get(guarded, "/runs").status_code == 401
    assert get(shown, "/runs").status_code == 200
    assert get(shown, f"/runs/{PLAN.run_id}/stop", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 403


def test_the_server_knows_the_name_in_the_settings(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """That by which people reach it; another one is refused."""
    monkeypatch.setenv("PROOFSWEEP_SERVE__URL", "https://catalog.example:8443")
    named = load_settings("sandbox", settings.results.url)

    app = site_app(named, "127.0.0.1", BY_HAND)

    async def status_of(host: str) -> int:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app.asgi), base_url=f"http://{host}") as client:
            return (await client.get("/runs")).status_code

    assert asyncio.run(status_of("catalog.example")) == 200
    assert asyncio.run(status_of("evil.example")) == 421


def test_the_token_is_where_the_command_or_the_settings_say(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command goes first; the variable's name is no misspelt setting."""
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    monkeypatch.setenv("PROOFSWEEP_SERVE__TOKEN_ENV", "PROOFSWEEP_TOKEN")
    monkeypatch.setenv("PROOFSWEEP_TOKEN", "v" * 20)
    by_variable = load_settings("sandbox", settings.results.url)

    found = [token_for(by_variable, None), token_for(by_variable, str(tmp_path / "token"))]

    assert [each and each.get_secret_value() for each in found] == ["v" * 20, TOKEN]
    assert token_for(settings, None) is None


@pytest.mark.parametrize(
    ("content", "why"), [(None, "cannot be read"), ("", "holds no token"), ("1234", "holds no token")]
)
def test_a_token_that_cannot_be_used_is_one_line(
    settings: Settings, tmp_path: Path, content: str | None, why: str
) -> None:
    """It names the file, and does not show what is in it."""
    if content is not None:
        (tmp_path / "token").write_text(content)

    with pytest.raises(ConfigError, match=rf"{re.escape(str(tmp_path))}/token .*{why}|token file .*{why}") as refused:
        site_app(settings, "127.0.0.1", BY_HAND, token_file=str(tmp_path / "token"))

    assert not content or content not in refused.value.message


def test_an_empty_store_is_told(tmp_path: Path) -> None:
    """A misspelt folder looks the same as a store before its first night."""
    app = site_app(load_settings("sandbox", str(tmp_path / "typo")), "127.0.0.1", BY_HAND)

    assert "There is no run in" in app.caution
    assert "There is no run yet" in get(app, "/runs").text


def test_the_overview_is_a_page_that_writes_nothing(settings: Settings, tmp_path: Path) -> None:
    """It shows what the command shows, and works the coverage out, since the server only reads."""
    before = sorted(tmp_path.rglob("*"))

    page = get(site_app(settings, "127.0.0.1", BY_HAND), "/overview").text

    assert PLAN.catalog in page
    assert ">Catalogs</h2>" in page
    assert '<a href="/runs">' in page
    assert sorted(tmp_path.rglob("*")) == before
