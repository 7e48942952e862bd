"""Look up a file by anything that a person knows of it, and show what became of it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from proofsweep.answers.explain.explain import (
    item_of_history,
    items_meant,
    json_of_item,
    lines_of_likely,
    lines_of_proof,
    occurrences_of,
)
from proofsweep.answers.explain.search import Search, searching
from proofsweep.answers.serve.forms import form_of
from proofsweep.answers.serve.pages import page_of_run, written
from proofsweep.errors import ResultsError
from proofsweep.model.layout import is_run_id, plan_name
from proofsweep.model.tables.verdicts import words_of_outcome
from proofsweep.store.plans_and_parts import Results

# Runs of which a file's page shows what happened. Chosen: a year of nights would be a long page; the tables have all.
_MOST_RUNS = 60


@dataclass(frozen=True, slots=True)
class FileSearch:
    """Answers the questions of readers. They may give a proof ID, so it comes in a form, never in an address."""

    results: Results

    async def ask(self, request: Request) -> Response:
        """Show the form, or what was found for it."""
        wanted = (await form_of(request)).get("words", "").strip() if request.method == "POST" else ""
        found = await run_in_threadpool(self._found, wanted) if wanted else {}
        if isinstance(found, str):
            return RedirectResponse(found, HTTPStatus.SEE_OTHER)
        nothing = {"wanted": wanted, "rows": [], "lines": [], "more": 0}
        return HTMLResponse(written("files.html.jinja", **{**nothing, **found}))

    async def file(self, request: Request) -> Response:
        """Show what became of a file."""
        return HTMLResponse(await run_in_threadpool(self._file, request.path_params["item_id"]))

    def _found(self, wanted: str) -> str | Mapping[str, object]:
        """Return the address of the one page that is meant, or what fits."""
        if is_run_id(wanted) and self.results.store.read(plan_name(wanted)) is not None:
            return page_of_run(wanted)
        with searching(self.results) as search:
            likely = items_meant(search, wanted, None)
            if likely.items > 1:
                rows = [(line, page_of_file(item_id)) for line, item_id in lines_of_likely(likely)]
                return {"rows": rows, "more": likely.items - len(rows)}
            try:
                return page_of_file(likely.only or item_of_history(search, wanted, None))
            except ResultsError as error:
                return _proof(search, wanted) or {"lines": [error.message]}

    def _file(self, item_id: str) -> str:
        with searching(self.results) as search:
            found = occurrences_of(search, item_id, None)
            erasures = search.erasures(item_id)
        if not found:
            raise HTTPException(HTTPStatus.NOT_FOUND, f"There is no file {item_id!r} in {self.results.store.url}.")
        newest = next((each.row for each in found if each.row is not None), None)
        return written(
            "file.html.jinja",
            item_id=item_id,
            newest=newest,
            tags=[] if newest is None else json.loads(str(newest["tags"] or "{}")).items(),
            runs=json_of_item(item_id, found[:_MOST_RUNS], erasures)["runs"],
            more=max(len(found) - _MOST_RUNS, 0),
            words_of_outcome=words_of_outcome,
        )


def page_of_file(item_id: str) -> str:
    """Return the address of a file's page."""
    return f"/files/{quote(item_id, safe='')}"


def _proof(search: Search, wanted: str) -> str | Mapping[str, object]:
    """Return the address of the one file that has a proof, or what else is known of it; nothing if nothing is."""
    found = search.proof(wanted)
    items = {str(row["item_id"]) for table, _, row in found if table == "verdicts"}
    return (
        page_of_file(items.pop())
        if len(items) == 1
        else {"lines": list(lines_of_proof(wanted, found))}
        if found
        else {}
    )
