"""What a server is made of: a store that it only reads, who may do what, and the few things that can be done."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from starlette.exceptions import HTTPException

from proofsweep.answers.serve.access import Access
from proofsweep.answers.serve.now import now_in
from proofsweep.answers.serve.pages import progress_html
from proofsweep.errors import ProofsweepError
from proofsweep.model.layout import is_run_id, plan_name
from proofsweep.store.plans_and_parts import Results


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """How this server resumes a run.

    Attributes:
        by: what does it, in words; None where there is nothing, so that a person types the command.
        begin: begins it, and returns a sentence that says so; ProofsweepError if it cannot.
        command: returns the command for a run.
    """

    by: Callable[[], str | None]
    begin: Callable[[str], str]
    command: Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A server's parts.

    Attributes:
        results: the store, open for reading alone.
        stop: asks the process that works on a run to end it in good order, and returns a sentence that says so.
        pages: writes the page of the catalog (None), or of a run.
        overview: writes the page of all accounts.
    """

    results: Results
    access: Access
    stop: Callable[[str], str]
    resumption: Resumption
    pages: Callable[[str | None], str]
    overview: Callable[[], str]

    @property
    def can_act(self) -> bool:
        """Whether somebody can stop and resume runs here."""
        return self.access.token is not None

    def require_run(self, run_id: str) -> None:
        """See that the store has a run: HTTPException if it has not, ResultsError if it cannot be read."""
        there = is_run_id(run_id) and self.results.store.read(plan_name(run_id)) is not None
        if not there or not self.results.shows(self.results.any_plan(run_id)):
            raise HTTPException(HTTPStatus.NOT_FOUND, f"There is no run {run_id!r} in {self.results.store.url}.")

    def look(self) -> str:
        """Return what goes on now as one line of JSON for the browsers, which says too when the store is away."""
        try:
            now = now_in(self.results)
        except ProofsweepError as error:
            return json.dumps({"trouble": error.message})
        runs = {run.run_id: progress_html(run) for run in now.active}
        return json.dumps({"state": now.state, "runs": runs})
