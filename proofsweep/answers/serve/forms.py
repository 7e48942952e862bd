"""What a browser sends with a form: a few short fields."""

from http import HTTPStatus
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request

# Bounds what a form can fill the memory with. Chosen: a token, a path and a few words are far shorter.
_MOST_FORM_BYTES = 4096


async def form_of(request: Request) -> dict[str, str]:
    """Read a small form; of a field that is given twice the first counts."""
    body = b""
    async for portion in request.stream():
        body += portion
        if len(body) > _MOST_FORM_BYTES:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "This form is too large.")
    return {name: values[0] for name, values in parse_qs(body.decode("ascii", "replace"), errors="replace").items()}
