"""`python -m tests.mutants`: a sandbox whose operator can let it break one rule of the contract at a time."""

import sys
from functools import partial

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from proofsweep_sandbox.__main__ import main
from proofsweep_sandbox.server import serve
from proofsweep_sandbox.service import Service

from .switch import MutantSwitch


class _Choice(BaseModel):
    """The mutant that breaks a rule; None for the correct service."""

    name: str | None


async def _choose(_service: Service, request: Request) -> Response:
    """Choose the mutant, from the next call on."""
    MutantSwitch.chosen = _Choice.model_validate_json(await request.body()).name
    return Response(status_code=204)


if __name__ == "__main__":
    main(sys.argv[1:], partial(serve, application=MutantSwitch, more_routes=[("PUT", "/mutant", _choose)]))
