"""One request on its way through an origin."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from starlette.requests import Request

from sandbox.registry.keys import Key

if TYPE_CHECKING:
    from sandbox.calls import Call


@dataclass(slots=True, kw_only=True)
class Exchange:
    """A request, the id and the call it was found to be, and the key that made it, once that is known."""

    request: Request
    request_id: str
    call: "Call"
    path: dict[str, str] = field(default_factory=dict)
    key: Key | None = None

    @property
    def caller(self) -> Key:
        """The key that made this call; to ask for it on a public call is a mistake in our code."""
        if self.key is None:
            raise LookupError(f"{self.call.name} has no caller")
        return self.key
