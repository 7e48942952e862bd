"""Send alerts to chat, mail and webhooks through apprise. Their URLs hold secrets, so nothing here shows them."""

import logging
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import apprise
from pydantic import SecretStr

from proofsweep.alerts.messages import Alert
from proofsweep.errors import ConfigError

# Bounds what a wrong path can fill the memory with: hundreds of receivers.
_MOST_URL_BYTES = 65_536

# How long all receivers together can keep a run from ending; apprise waits 4 s for each step of HTTP, 15 s for SMTP.
_LONGEST_SEND_SECONDS = 30.0


def urls_in_file(path: Path) -> str:
    """Read the URLs from a file; ConfigError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_MOST_URL_BYTES).decode("utf-8", "replace")
    except OSError as error:
        why = error.strerror
        raise ConfigError(f"The file of alert URLs {path} cannot be read ({why}): see alerts.urls_file.") from error


class Receivers:
    """Those who are told. Nothing of them is shown but the kind of each, such as `slack`."""

    def __init__(self, urls: Sequence[SecretStr]) -> None:
        self._urls = urls

    @classmethod
    def read(cls, text: str, *, where: str) -> "Receivers":
        """Read and check the URLs, one a line; an empty line and one that begins with `#` are ignored.

        ConfigError if there is none, or apprise cannot use one. The error does not show it.
        """
        _silence_libraries()
        lines = {number: line.strip() for number, line in enumerate(text.splitlines(), start=1)}
        urls = {number: SecretStr(line) for number, line in lines.items() if line and not line.startswith("#")}
        if not urls:
            raise ConfigError(f"{where} holds no alert URL; see docs/alerts.md.")
        for number, url in urls.items():
            if apprise.Apprise.instantiate(url.get_secret_value()) is None:
                raise ConfigError(f"{where}, line {number}: this is no URL of apprise; see docs/alerts.md.")
        return cls(list(urls.values()))

    def __len__(self) -> int:
        """Count them."""
        return len(self._urls)

    def send(self, alerts: Sequence[Alert]) -> list[list[str]]:
        """Send alerts to all receivers at once; for each alert, name the kinds of those that did not take it in time.

        All together have 30 seconds: a receiver that hangs keeps neither another one nor the run.
        """
        taken: list[set[int]] = [set() for _ in self._urls]
        threads = [
            threading.Thread(target=_send, args=(url, alerts, its_own), daemon=True, name="alert")
            for url, its_own in zip(self._urls, taken, strict=True)
        ]
        for thread in threads:
            thread.start()
        end = time.monotonic() + _LONGEST_SEND_SECONDS
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        in_time = [(_kind_of(url), frozenset(its_own)) for url, its_own in zip(self._urls, taken, strict=True)]
        return [[kind for kind, its_own in in_time if number not in its_own] for number in range(len(alerts))]


def _send(url: SecretStr, alerts: Sequence[Alert], taken: set[int]) -> None:
    """Send alerts to one receiver in their order; add the numbers of those that it has taken."""
    asset = apprise.AppriseAsset(app_id="proofsweep", app_desc="proofsweep", app_url="", async_mode=False)
    receiver = apprise.Apprise(asset=asset)
    receiver.add(url.get_secret_value())
    for number, alert in enumerate(alerts):
        if receiver.notify(
            alert.body,
            title=alert.subject,
            notify_type=apprise.NotifyType(alert.severity),
            body_format=apprise.NotifyFormat.TEXT,
        ):
            taken.add(number)


def _kind_of(url: SecretStr) -> str:
    """Return the scheme of a URL: it names the service, and holds no secret."""
    return url.get_secret_value().partition("://")[0].lower()


def _silence_libraries() -> None:
    """Apprise names a receiver's URL in some of its lines, at any level; the HTTP library below it at level DEBUG."""
    logging.getLogger("apprise").setLevel(logging.CRITICAL + 1)
    logging.getLogger("urllib3").setLevel(logging.WARNING)
