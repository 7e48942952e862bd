"""Who may see and do what: the names of this server, the token, and which requests come from its own pages.

The browser keeps no token: it gets a session, which only this server can have made of the token, and which ends.
"""

import hashlib
import hmac
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from pydantic import SecretStr

from proofsweep.errors import ConfigError

SESSION = "proofsweep_session"
"""The name of the cookie."""

# How long a token that was entered counts. Chosen: a working day.
SESSION_SECONDS = 12 * 3600

# Letters of a token at least. Chosen: nobody guesses 16 random ones, and a PIN is refused.
_FEWEST_LETTERS = 16

_BEARER = "bearer "


def usable_token(text: str, *, where: str) -> SecretStr:
    """Return a token; ConfigError, which does not show it, if it is too short or no header can carry it."""
    token = text.strip()
    if len(token) < _FEWEST_LETTERS or not all("!" <= letter <= "~" for letter in token):
        raise ConfigError(
            f"{where} holds no token: give at least {_FEWEST_LETTERS} letters and digits without spaces, such as "
            "those of: openssl rand -hex 24"
        )
    return SecretStr(token)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What a server allows.

    Attributes:
        token: what somebody must know who wants to act; None where nobody can act.
        guards_reading: whether the token is needed to read, too.
        names: the host names by which browsers reach the server, beside addresses and `localhost`.
        clock: gives the seconds since 1970.
    """

    token: SecretStr | None = None
    guards_reading: bool = False
    names: frozenset[str] = frozenset()
    clock: Callable[[], float] = time.time

    def is_own_host(self, host: str) -> bool:
        """Whether a Host header names this server.

        Another site's name that leads to this machine (DNS rebinding) would let that site read and act here. A browser
        that names an address has looked up no name.
        """
        name = _host_name(host)
        return name == "localhost" or name in self.names or _is_address(name)

    def knows(self, token: str) -> bool:
        """Whether somebody gave the token; the comparison takes the same time for each wrong one."""
        return self.token is not None and hmac.compare_digest(
            _digest(self.token.get_secret_value()), _digest(token.strip())
        )

    def new_session(self) -> str:
        """Return the session of somebody who gave the token."""
        return self._session(str(int(self.clock()) + SESSION_SECONDS))

    def is_session(self, session: str) -> bool:
        """Whether this server has made a session, with this token, and it has not ended."""
        ends = session.partition(".")[0]
        if self.token is None or not (ends.isascii() and ends.isdigit()):
            return False
        return hmac.compare_digest(self._session(ends).encode(), session.encode()) and int(ends) > self.clock()

    def may_read(self, headers: Mapping[str, str], session: str) -> bool:
        """Whether a request may see the pages."""
        return not self.guards_reading or self._has_bearer(headers) or self.is_session(session)

    def may_act(self, headers: Mapping[str, str], session: str) -> bool:
        """Whether a request may stop or resume a run: a session counts only in requests of this site's own pages."""
        return self._has_bearer(headers) or (self.is_session(session) and is_from_own_page(headers))

    def _has_bearer(self, headers: Mapping[str, str]) -> bool:
        given = headers.get("authorization", "")
        return given[: len(_BEARER)].lower() == _BEARER and self.knows(given[len(_BEARER) :])

    def _session(self, ends: str) -> str:
        key = b"" if self.token is None else self.token.get_secret_value().encode()
        return f"{ends}.{hmac.new(key, b'proofsweep session ' + ends.encode(), hashlib.sha256).hexdigest()}"


def is_from_own_page(headers: Mapping[str, str]) -> bool:
    """Whether a browser says that a page of this very site sends a request; who says nothing is no such page.

    Browsers send `Sec-Fetch-Site` over TLS and to this machine, and `Origin` with each form.
    """
    if (site := headers.get("sec-fetch-site")) is not None:
        return site == "same-origin"
    origin = headers.get("origin", "")
    return "://" in origin and origin.partition("://")[2] == headers.get("host")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _host_name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").removesuffix(".")
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True
