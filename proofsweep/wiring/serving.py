"""The server of live pages, from the settings. No key is read here: a server only looks at the results store."""

import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr

from proofsweep.answers.explain.explain import packet_of_failed_calls
from proofsweep.answers.follow_run import stop_run
from proofsweep.answers.overview.page import overview_page
from proofsweep.answers.overview.values import FlowSchedule
from proofsweep.answers.report.catalog_page import catalog_page
from proofsweep.answers.report.choice import PageChoice
from proofsweep.answers.report.night_page import night_page
from proofsweep.answers.serve.access import Access, usable_token
from proofsweep.answers.serve.app import SiteApp
from proofsweep.answers.serve.pages import LIVE_LINKS, links_of_run, links_to_all
from proofsweep.answers.serve.site import Resumption, Site
from proofsweep.errors import ConfigError
from proofsweep.settings import Settings, environment
from proofsweep.settings.sections import is_loopback
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.read_only import read_only
from proofsweep.store.store import open_store
from proofsweep.wiring.engines import utc_now
from proofsweep.wiring.overviews import overview_for
from proofsweep.wiring.stores import results_for, supplier_tag_of

# Bounds what a wrong path can fill the memory with. Chosen: any token is far shorter.
_MOST_TOKEN_BYTES = 4096


def site_app(
    settings: Settings,
    host: str,
    resumption: Resumption,
    schedule: Callable[[], FlowSchedule | None] = lambda: None,
    *,
    token_file: str | None = None,
    is_read_only: bool = False,
) -> SiteApp:
    """Return the server's application for a host that it listens at; `schedule` says what an orchestrator has planned.

    On this machine alone everybody may read, and the token permits to act. Elsewhere the token is needed to read, too,
    unless the server is read-only: then nobody can act, and everybody who reaches it may read.

    ConfigError if there is no usable token, or another machine could reach a server without one.
    """
    token = None if is_read_only else token_for(settings, token_file)
    is_open = not is_loopback(host)
    if is_open and token is None and not is_read_only:
        raise ConfigError(
            f"Other machines reach {host}: give a token (--token-file), or let all of them read with --read-only."
        )
    results = results_for(settings)
    shown = Results(read_only(results.store), results.environment)
    names = {socket.gethostname().lower(), host.lower()}
    names |= {(urlsplit(settings.serve.url).hostname or "")} if settings.serve.url else set()
    site = Site(
        results=shown,
        access=Access(token=token, guards_reading=is_open and token is not None, names=frozenset(names)),
        stop=stopping(results),
        resumption=resumption,
        pages=pages_of(shown, settings),
        overview=lambda: _overview_page(settings, schedule),
    )
    return SiteApp(site)


def _overview_page(settings: Settings, schedule: Callable[[], FlowSchedule | None]) -> str:
    found = overview_for([settings], utc_now(), schedule, lambda url: read_only(open_store(url)))
    return overview_page(found, settings.results.url, LIVE_LINKS)


def token_for(settings: Settings, token_file: str | None) -> SecretStr | None:
    """Read the token: of the file that is given, or as the settings say; None if nothing says where it is."""
    file = settings.serve.token_file if token_file is None else Path(token_file)
    if token_file is None and settings.serve.token_env is not None:
        name = settings.serve.token_env
        return usable_token(environment().get(name, ""), where=f"The environment variable {name}")
    if file is None:
        return None
    try:
        with file.open("rb") as content:
            return usable_token(content.read(_MOST_TOKEN_BYTES).decode("utf-8", "replace"), where=f"The file {file}")
    except OSError as error:
        raise ConfigError(f"The token file {file} cannot be read ({error.strerror}).") from error


def pages_of(results: Results, settings: Settings) -> Callable[[str | None], str]:
    """Return what writes the page of the catalog, or of a run."""
    choice = PageChoice(usual_tag=supplier_tag_of(settings))

    def page(run_id: str | None) -> str:
        if run_id is None:
            return catalog_page(results, settings.service.environment, utc_now(), choice, links_to_all(results))
        packet = packet_of_failed_calls(results, results.plan(run_id))
        links, screening = links_of_run(results, run_id), settings.screening.conditions
        return night_page(results, run_id, utc_now(), choice, links, packet=packet, screening=screening)

    return page


def stopping(results: Results) -> Callable[[str], str]:
    """Return what asks the process that works on a run to end it."""

    def stop(run_id: str) -> str:
        leg = stop_run(results, run_id, 0.0).leg
        if leg is None:
            return "Nothing works on this run, so there is nothing to stop."
        return f"The run was asked to stop: {leg.where} finishes the files in flight, within some seconds."

    return stop
