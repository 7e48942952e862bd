"""The pages that only a server has: what goes on now, all runs, and a word to the reader."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from markupsafe import Markup

from proofsweep.answers.describe_run import describe_run, newest_runs, state_of
from proofsweep.answers.report.choice import PageLinks
from proofsweep.answers.report.templates import template
from proofsweep.answers.serve.now import ActiveRun, Now
from proofsweep.model.run_records import OUTCOMES
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import RunIndex

# Runs of one page of the list. Chosen: two months of nights; each costs a few requests while it is unfinished.
_RUNS = 60

_MENU = {"Catalog": "/", "Overview": "/overview", "Runs": "/runs", "Look up a file": "/files"}

LIVE_LINKS = PageLinks(menu=_MENU, live="/serve.js")
"""The links of each page that a server sends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """A button: where its form goes, and its words.

    Attributes:
        then: where the reader goes with the token; None if none is asked for.
    """

    target: str
    words: str
    then: str | None = None

    @property
    def asks_for_token(self) -> bool:
        """Whether the form has a field for the token."""
        return self.then is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A page of a few sentences, with a command to type or a button perhaps."""

    heading: str
    lines: Sequence[str] = ()
    command: str = ""
    button: Button | None = None
    back: str = ""
    waits: bool = False  # for the store: it is loaded anew when that can be read


def page_of_run(run_id: str) -> str:
    """Return the address of a run's page."""
    return f"/runs/{quote(run_id, safe='')}"


def links_to_all(results: Results) -> PageLinks:
    """Return the links of the catalog's page: to the page of each run."""
    runs = RunIndex(results).refreshed().records
    return replace(LIVE_LINKS, nights={run_id: page_of_run(run_id) for run_id in runs})


def links_of_run(results: Results, run_id: str) -> PageLinks:
    """Return the links of a run's page: also to what goes on with it, if somebody can."""
    if why_not_resumed(results, run_id) is not None:
        return LIVE_LINKS
    return replace(LIVE_LINKS, menu=_MENU | {"Resume this run …": f"{page_of_run(run_id)}/resume"})


def why_not_resumed(results: Results, run_id: str) -> str | None:
    """Return why nobody can go on with a run; None if somebody can."""
    run = describe_run(results, run_id)
    if run.is_over:
        return "Nobody needs to go on with it: no row remains, or other runs have taken its place."
    return None if run.active is None else "A process works on it."


def message_page(message: Message) -> str:
    """Write a page of a few sentences."""
    return written("message.html.jinja", **{name: getattr(message, name) for name in Message.__slots__})


def token_page(then: str, trouble: str = "") -> str:
    """Write the page that asks for the token, and leads on to a path."""
    lines = [trouble, "Whoever stops or resumes a run gives the token with which this server was started."]
    button = Button(target="/token", words="Go on", then=then)
    return message_page(Message(heading="Token", lines=[line for line in lines if line], button=button))


def active_page(run: ActiveRun, now: Now, *, can_act: bool) -> str:
    """Write the page of a run that goes on."""
    return written("active.html.jinja", state=now.state, run=run, can_act=can_act)


def runs_page(results: Results, now: Now, before: str, *, can_act: bool) -> str:
    """Write the list of runs, the newest first, or of those whose IDs sort before one; the active ones on top."""
    found = newest_runs(results, _RUNS + 1, lambda plan: not before or plan.run_id < before)
    shown = [(run, state_of(run)) for run in found[:_RUNS]]
    older = shown[-1][0].plan.run_id if len(found) > _RUNS else ""
    top = Now((), now.state) if before else now
    return written(
        "runs.html.jinja",
        now=top,
        runs=shown,
        before=before,
        older=older,
        outcomes=OUTCOMES,
        results=results.store.url,
        can_act=can_act,
    )


def progress_html(run: ActiveRun) -> str:
    """Write how far a run is, as the inside of an element."""
    return template("progress.html.jinja").render(run=run)


def written(name: str, **facts: object) -> str:
    """Write a page of this server by its template."""

    def progress(run: ActiveRun) -> Markup:
        return Markup(progress_html(run))  # noqa: S704 - our own template, which escapes what it is filled with

    return template(name).render(links=LIVE_LINKS, page_of=page_of_run, progress=progress, **facts)
