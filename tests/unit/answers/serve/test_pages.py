"""The pages that only a server has."""

from datetime import UTC, datetime

from proofsweep.answers.serve.now import now_in
from proofsweep.answers.serve.pages import (
    Button,
    Message,
    links_of_run,
    links_to_all,
    message_page,
    page_of_run,
    progress_html,
    token_page,
    why_not_resumed,
)
from proofsweep.model.progress import WaitsFor
from proofsweep.store.plans_and_parts import Results

from .conftest import ENDED, STOPPED, begin


def test_what_a_run_waits_for_is_said_with_its_time(results: Results) -> None:
    """A pause that the service asked for is no failure."""
    until = datetime(2026, 11, 24, 3, 12, tzinfo=UTC)
    begin(results, waits_for=WaitsFor.PAUSE, paused_until=until, waits_since=until.replace(hour=2))

    (run,) = now_in(results).active

    assert "The service asked for a pause until 03:12:00 UTC, since 2026-11-24 02:12 UTC." in progress_html(run)


def test_a_run_without_a_row_divides_by_nothing(results: Results) -> None:
    """The bar of a browser needs a length."""
    begin(results, finished=0, rows=0, counts={})

    assert '<progress max="1" value="0"' in progress_html(now_in(results).active[0])


def test_a_page_shows_text_as_it_is() -> None:
    """Sentences, commands and addresses are escaped."""
    page = message_page(Message(heading="<b>", lines=["<i>&"], command="'<u>'", back='"/x'))

    assert "<h1>&lt;b&gt;</h1>" in page
    assert "<p>&lt;i&gt;&amp;</p>" in page
    assert "<pre>&#39;&lt;u&gt;&#39;</pre>" in page
    assert 'href="&#34;/x"' in page


def test_a_button_asks_for_the_token_only_where_it_is_needed() -> None:
    """The token's page leads on; a question has the button alone."""
    asks = message_page(Message(heading="Sure?", button=Button(target="/x", words="Yes")))

    assert 'name="token"' not in asks
    assert 'name="next" value="/runs"' in token_page("/runs")
    assert "wrong" in token_page("/runs", "wrong")


def test_an_address_holds_any_run() -> None:
    """A run's ID has letters and digits; whatever comes, it stays one part of the path."""
    assert page_of_run("a/../b?c#d") == "/runs/a%2F..%2Fb%3Fc%23d"


def test_a_run_with_rows_left_can_be_resumed(results: Results) -> None:
    """Its page leads there; one that is over, or goes on, says why it cannot."""
    active = begin(results)

    assert "Resume this run …" in links_of_run(results, STOPPED.run_id).menu
    assert "no row remains" in (why_not_resumed(results, ENDED.run_id) or "")
    assert "works on it" in (why_not_resumed(results, active.run_id) or "")
    assert "Resume this run …" not in links_of_run(results, ENDED.run_id).menu


def test_the_catalog_leads_to_each_run(results: Results) -> None:
    """Where a server sends the pages."""
    assert links_to_all(results).nights[ENDED.run_id] == f"/runs/{ENDED.run_id}"
