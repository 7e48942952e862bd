"""What can be done from a page: stop a run, resume it, and give the token. Each asks before, and each is a form."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from proofsweep.answers.serve.access import SESSION, SESSION_SECONDS, is_from_own_page
from proofsweep.answers.serve.forms import form_of
from proofsweep.answers.serve.pages import Button, Message, message_page, page_of_run, token_page, why_not_resumed
from proofsweep.answers.serve.site import Site
from proofsweep.errors import ProofsweepError

# Time that a wrong token costs. Chosen: a person does not mind, and a program tries few.
_WRONG_TOKEN_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Deed:
    """What a button does: what the page asks, the button's words, and the work."""

    heading: str
    lines: Sequence[str]
    words: str
    work: Callable[[str], str]


class Actions:
    """Answers the forms of a site."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def stop(self, request: Request) -> Response:
        """Ask whether to stop a run, or stop it."""
        lines = ["Files in flight are finished, and all results are kept. A stopped run can be resumed at any time."]
        deed = _Deed(heading="Stop this run?", lines=lines, words="Stop the run", work=self._site.stop)
        return await self._answer(request, lambda: deed)

    async def resume(self, request: Request) -> Response:
        """Ask whether to resume a run, or let Prefect resume it; show the command where there is no deployment."""
        run_id = request.path_params["run_id"]
        await run_in_threadpool(self._site.require_run, run_id)
        if (why := await run_in_threadpool(why_not_resumed, self._site.results, run_id)) is not None:
            page = message_page(Message(heading="This run is not resumed", lines=[why], back=page_of_run(run_id)))
            return HTMLResponse(page, HTTPStatus.CONFLICT)
        if not self._site.can_act:
            return HTMLResponse(message_page(self._typed(run_id)))
        return await self._answer(request, lambda: self._resumed(run_id))

    def _resumed(self, run_id: str) -> "_Deed | Message":
        try:
            by = self._site.resumption.by()
        except ProofsweepError as error:
            return self._typed(run_id, error.message)
        lines = [f"{by} verifies the rows that remain."]
        work = self._site.resumption.begin
        asked = _Deed(heading="Resume this run?", lines=lines, words="Resume the run", work=work)
        return asked if by is not None else self._typed(run_id)

    def _typed(self, run_id: str, *lines: str) -> Message:
        lines = (*lines, "This server cannot resume runs by itself. Type this on a machine that has the key:")
        command = self._site.resumption.command(run_id)
        return Message(heading="Resume this run", lines=lines, command=command, back=page_of_run(run_id))

    async def token(self, request: Request) -> Response:
        """Take the token, and go where the reader wanted to."""
        if request.method != "POST":
            return HTMLResponse(token_page(_own_path(request.query_params.get("next", "/"))))
        form = await form_of(request)
        then = _own_path(form.get("next", "/"))
        if not is_from_own_page(request.headers):
            raise HTTPException(HTTPStatus.FORBIDDEN, "The token was not entered on a page of this server.")
        if not self._site.access.knows(form.get("token", "")):
            await asyncio.sleep(_WRONG_TOKEN_SECONDS)
            return HTMLResponse(token_page(then, "This is not the token of this server."), HTTPStatus.FORBIDDEN)
        answer = RedirectResponse(then, HTTPStatus.SEE_OTHER)
        answer.set_cookie(
            SESSION,
            self._site.access.new_session(),
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return answer

    async def _answer(self, request: Request, prepare: Callable[[], "_Deed | Message"]) -> Response:
        """Ask, do, or refuse; nothing is prepared for somebody who has not given the token."""
        run_id, access = request.path_params["run_id"], self._site.access
        await run_in_threadpool(self._site.require_run, run_id)
        if not self._site.can_act:
            raise HTTPException(HTTPStatus.FORBIDDEN, "This server is read-only: nobody can stop or resume a run here.")
        session, is_order = request.cookies.get(SESSION, ""), request.method == "POST"
        if is_order and not access.may_act(request.headers, session):
            return _refused(request)
        if not is_order and not access.is_session(session):
            return HTMLResponse(token_page(request.url.path))
        deed = await run_in_threadpool(prepare)
        if isinstance(deed, Message):
            return HTMLResponse(message_page(deed))
        return await self._done(deed, run_id) if is_order else HTMLResponse(_asked(deed, request.url.path, run_id))

    async def _done(self, deed: _Deed, run_id: str) -> Response:
        try:
            told = await run_in_threadpool(deed.work, run_id)
        except ProofsweepError as error:
            page = message_page(Message(heading="This was not done", lines=[error.message], back=page_of_run(run_id)))
            return HTMLResponse(page, HTTPStatus.CONFLICT)
        return HTMLResponse(message_page(Message(heading="Done", lines=[told], back=page_of_run(run_id))))


def _refused(request: Request) -> Response:
    """Refuse an order; whose session has just ended is asked for the token again."""
    if "authorization" in request.headers:
        raise HTTPException(HTTPStatus.UNAUTHORIZED, "This is not the token of this server.")
    if not is_from_own_page(request.headers):
        raise HTTPException(HTTPStatus.FORBIDDEN, "The request does not come from a page of this server.")
    return RedirectResponse(request.url.path, HTTPStatus.SEE_OTHER)


def _asked(deed: _Deed, target: str, run_id: str) -> str:
    button, lines = Button(target=target, words=deed.words), [f"Run {run_id}", *deed.lines]
    return message_page(Message(heading=deed.heading, lines=lines, button=button, back=page_of_run(run_id)))


def _own_path(path: str) -> str:
    """Return a path of this server; the first page in place of anything that leads elsewhere."""
    is_own = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return path if is_own else "/"
