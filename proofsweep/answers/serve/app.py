"""The server's addresses, and what each answers. Nothing here reads a setting, a key or the environment.

It keeps nothing: a restart loses nothing, and any number of servers may look at one store.
"""

from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from proofsweep.answers.serve.actions import Actions
from proofsweep.answers.serve.file_search import FileSearch
from proofsweep.answers.serve.guard import Guard
from proofsweep.answers.serve.now import now_in
from proofsweep.answers.serve.pages import Message, active_page, message_page, runs_page
from proofsweep.answers.serve.recent_pages import RecentPages
from proofsweep.answers.serve.shared_look import SharedLook
from proofsweep.answers.serve.site import Site
from proofsweep.errors import ResultsError

_SCRIPT = Path(__file__).parent / "serve.js"

# A stream without news says so little, and so notices that its reader has gone. Chosen: proxies wait for a minute.
_SILENCE_SECONDS = 20.0


class SiteApp:
    """The pages of a site as an ASGI application."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._recent = RecentPages()
        self.shared_look = SharedLook(site.look)
        actions, files = Actions(site), FileSearch(site.results)
        routes = [
            Route("/", self._catalog),
            Route("/overview", self._overview),
            Route("/runs", self._runs),
            Route("/runs/{run_id}", self._run),
            Route("/runs/{run_id}/night", self._night),
            Route("/runs/{run_id}/stop", actions.stop, methods=["GET", "POST"]),
            Route("/runs/{run_id}/resume", actions.resume, methods=["GET", "POST"]),
            Route("/token", actions.token, methods=["GET", "POST"]),
            Route("/files", files.ask, methods=["GET", "POST"]),
            Route("/files/{item_id:path}", files.file),
            Route("/events", self._events),
            Route("/serve.js", _script),
            Route("/favicon.ico", _nothing),
        ]
        failures: dict[int | type[Exception], Callable[[Request, Exception], Response]] = {
            HTTPException: _not_there,
            ResultsError: _unreadable,
            HTTPStatus.INTERNAL_SERVER_ERROR: _bug,
        }
        self.asgi = Guard(Starlette(routes=routes, exception_handlers=failures), site.access)

    @property
    def caution(self) -> str:
        """What is strange about the store when the server begins, in a sentence; ResultsError if it cannot be read."""
        if self._site.results.store.folders("_runs"):
            return ""
        return f"There is no run in {self._site.results.store.url} yet. The pages show the first one when it begins."

    async def _catalog(self, _request: Request) -> Response:
        return HTMLResponse(await run_in_threadpool(self._made, None))

    async def _overview(self, _request: Request) -> Response:
        return HTMLResponse(await run_in_threadpool(self._recent.page, ("overview",), self._site.overview))

    async def _runs(self, request: Request) -> Response:
        before = request.query_params.get("before", "")

        def make() -> str:
            return runs_page(self._site.results, now_in(self._site.results), before, can_act=self._site.can_act)

        return HTMLResponse(await run_in_threadpool(make))

    async def _run(self, request: Request) -> Response:
        return HTMLResponse(await run_in_threadpool(self._page_of_run, request.path_params["run_id"]))

    def _page_of_run(self, run_id: str) -> str:
        """Write a run's page: how far it is while a process works on it, then the page of its night."""
        self._site.require_run(run_id)
        now = now_in(self._site.results)
        active = now.active_run(run_id)
        return self._made(run_id) if active is None else active_page(active, now, can_act=self._site.can_act)

    async def _night(self, request: Request) -> Response:
        run_id = request.path_params["run_id"]
        await run_in_threadpool(self._site.require_run, run_id)
        return HTMLResponse(await run_in_threadpool(self._made, run_id))

    def _made(self, run_id: str | None) -> str:
        """Write the page of the catalog or of a run; one that was made just now counts until the runs have changed."""
        state = now_in(self._site.results).state
        return self._recent.page((run_id or "", state), lambda: self._site.pages(run_id))

    async def _events(self, request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        return StreamingResponse(self._lines(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    async def _lines(self) -> AsyncIterator[str]:
        async for seen in self.shared_look.changes(_SILENCE_SECONDS):
            yield ": still here\n\n" if seen is None else f"event: now\ndata: {seen}\n\n"


def _script(_request: Request) -> Response:
    return FileResponse(_SCRIPT, media_type="text/javascript")


def _nothing(_request: Request) -> Response:
    return Response(status_code=HTTPStatus.NO_CONTENT)


def _not_there(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.NOT_FOUND
    lines = [error.detail] if isinstance(error, HTTPException) else []
    page = message_page(Message(heading=HTTPStatus(status).phrase, lines=lines, back="/"))
    return HTMLResponse(page, status)


def _unreadable(_request: Request, error: Exception) -> Response:
    """Say why the store cannot be read; the script shows the page as soon as it can."""
    lines = [str(error), "This page shows itself as soon as the store can be read again."]
    page = message_page(Message(heading="The results store cannot be read now", lines=lines, waits=True))
    return HTMLResponse(page, HTTPStatus.SERVICE_UNAVAILABLE, headers={"Retry-After": "5"})


def _bug(_request: Request, error: Exception) -> Response:
    lines = [f"The page could not be made ({type(error).__name__}). This is a bug of proofsweep; please report it."]
    return HTMLResponse(message_page(Message(heading="This did not work", lines=lines, back="/")), 500)
