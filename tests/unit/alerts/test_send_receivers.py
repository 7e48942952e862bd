"""Alerts reach chat, mail and webhooks over real sockets, and no line shows where they went."""

import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apprise
import pytest

from proofsweep.alerts import send as alert_receivers
from proofsweep.alerts.rules import Alert, AlertKind, quoted
from proofsweep.alerts.send import Receivers, urls_in_file
from proofsweep.domain.errors import ConfigError

from ...servers.alert_receivers import Mailbox, Webhook, mailbox, webhook

SECRET = "s3cr3tT0ken"
ALERT = Alert(
    kind=AlertKind.ROWS_REMAIN,
    cause="c",
    subject="proofsweep: 3 of 4 rows remain",
    body="First line.\n- 3 `x & y`: 1 < 2\nTables: `s3://label/a_b_*`",
)


@pytest.fixture
def hook() -> Iterator[Webhook]:
    """A webhook on this machine."""
    with webhook() as hook:
        yield hook


@pytest.fixture
def box() -> Iterator[Mailbox]:
    """A mail server on this machine."""
    with mailbox() as box:
        yield box


def receivers(*urls: str) -> Receivers:
    """Read receivers from some lines."""
    return Receivers.read("\n".join(urls), where="The test")


def test_a_mail_server_gets_a_readable_message(box: Mailbox) -> None:
    """The text is the same; in HTML its letters are escaped."""
    url = f"mailto://127.0.0.1:{box.port}/?mode=insecure&from=proofsweep@label.example&to=team@label.example"

    missed = receivers(url).send([ALERT])

    assert missed == [[]]
    (message,) = box.messages
    html = message.get_body(("html",))
    assert message["subject"] == ALERT.subject
    assert html is not None
    assert "x&nbsp;&amp;&nbsp;y" in html.get_content() or "x &amp; y" in html.get_content()
    assert "1 < 2" not in html.get_content()


def test_slack_gets_no_mention_from_foreign_text(hook: Webhook, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own plugin of apprise makes a mention of `<!channel>` again; our letters are others."""
    from apprise.plugins.slack import NotifySlack  # noqa: PLC0415 - a plugin is loaded when it is used

    monkeypatch.setattr(NotifySlack, "webhook_url", f"http://127.0.0.1:{hook.port}")
    bad = Alert(kind=AlertKind.SUNSET, cause="", subject="s", body=f"- 1 of {quoted('<!channel> <@U12345>')}")

    receivers("slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ").send([bad])

    posted = json.dumps(hook.posts)
    assert "U12345" in posted
    assert "<!" not in posted
    assert "<@" not in posted


def test_one_that_fails_keeps_no_other_from_its_alert(hook: Webhook) -> None:
    """Only the line and the kind of the one that missed it are named; who has it is left out the next time."""
    good = f"json://127.0.0.1:{hook.port}/a"

    missed = receivers(good, f"xml://127.0.0.1:1/{SECRET}", good).send([ALERT])

    assert missed == [["line 2 (xml)"]]
    assert len(hook.posts) == 2
    assert receivers(good, good).send([ALERT], [["line 1 (json)"]]) == [[]]
    assert len(hook.posts) == 3


def test_receivers_that_never_answer_have_one_bound_together(hook: Webhook, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of them and two alerts take no longer than one; who answers gets every alert."""
    hook.stalled.clear()
    monkeypatch.setattr(alert_receivers, "_LONGEST_SEND_SECONDS", 1.0)
    began = time.monotonic()

    with webhook() as good:
        hung = [f"json://127.0.0.1:{hook.port}/{number}" for number in range(3)]
        missed = receivers(*hung, f"json://127.0.0.1:{good.port}/good").send([ALERT, ALERT])

    assert missed == [[f"line {number} (json)" for number in (1, 2, 3)]] * 2
    assert time.monotonic() - began < 2.0
    assert len(good.posts) == 2


def test_no_log_line_and_no_output_shows_a_url(
    hook: Webhook, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Neither apprise nor the library below it, at any level, whether the sending succeeds or fails."""
    caplog.set_level(logging.DEBUG)
    every = receivers(
        f"json://user:{SECRET}@127.0.0.1:{hook.port}/{SECRET}?+X-Token={SECRET}",
        f"json://127.0.0.1:1/{SECRET}",
        f"json://{SECRET}.invalid/{SECRET}",
    )

    every.send([ALERT])
    hook.status = 500
    every.send([ALERT])

    shown = caplog.text + "".join(capfd.readouterr()) + repr(every) + repr(every._urls)
    assert SECRET not in shown


@pytest.mark.parametrize("line", [f"nosuch://{SECRET}", f"https//{SECRET}", SECRET, "slack://", "mailto://"])
def test_a_line_that_is_no_url_takes_nothing(line: str, hook: Webhook, caplog: pytest.LogCaptureFixture) -> None:
    """Its number is named, not what it holds; the others are told."""
    missed = receivers("# our team", f"json://127.0.0.1:{hook.port}/", line).send([ALERT])

    assert missed == [["line 3 (no URL of apprise)"]]
    assert len(hook.posts) == 1
    assert SECRET not in caplog.text


@pytest.mark.parametrize("text", ["", "\n\n", "# nobody\n"])
def test_no_url_at_all_is_a_mistake(text: str) -> None:
    """The setting says that somebody is to be told."""
    with pytest.raises(ConfigError, match="holds no alert URL"):
        receivers(text)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """It is a setting's value, and no secret."""
    with pytest.raises(ConfigError, match=r"file of alert URLs .*none cannot be read"):
        urls_in_file(tmp_path / "none")


def test_apprise_reads_what_the_docs_name() -> None:
    """A release that drops a receiver of docs/alerts.md is seen here."""
    named: list[Any] = [
        "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ",
        "mailtos://user:password@mail.example?from=proofsweep@label.example&to=team@label.example",
        "jsons://hooks.example/path",
        "workflows://prod.example/workflow/signature",
        "pagerduty://integration@routing",
    ]

    assert [url for url in named if apprise.Apprise.instantiate(url) is None] == []
