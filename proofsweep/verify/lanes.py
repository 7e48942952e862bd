"""The lane of a key, told by all processes that use it: numbered objects, each created once; the last one counts.

So two processes never overwrite each other's news, in any store that creates an object once. Nothing in them is secret,
and nothing is needed: all of them may be deleted at any time.
"""

from contextlib import suppress
from dataclasses import asdict, dataclass, field

from pydantic import TypeAdapter

from proofsweep.client.lane import Lane
from proofsweep.domain.errors import NameTaken
from proofsweep.store import layout
from proofsweep.store.store import Store, json_bytes

_READER = TypeAdapter(Lane)
_KEPT = 32


@dataclass(slots=True)
class LaneObject:
    """The lane of one key in a store; used by one thread. `number` is that of the last object seen."""

    store: Store
    folder: str
    number: int = 0
    _seen: Lane = field(default_factory=Lane)

    def latest(self) -> Lane:
        """List the objects and read the last one; an empty lane if there is none, or if it cannot be understood."""
        numbers = sorted(map(_number_of, self.store.names(self.folder)))
        for number in numbers[: -2 * _KEPT]:
            self.store.delete(layout.lane_name(self.folder, number))
        self.number = max(self.number, numbers[-1]) if numbers else 0
        self._seen = self._read(self.number) or Lane()
        return self._seen

    def newer(self) -> Lane:
        """Read the objects that follow the last one seen, one request for each; return the last one."""
        while (lane := self._read(self.number + 1)) is not None:
            self.number, self._seen = self.number + 1, lane
        return self._seen

    def tell(self, lane: Lane) -> bool:
        """Write what follows the last object seen; whether it stands there, and nobody else's does."""
        number, content = self.number + 1, json_bytes(asdict(lane))
        name = layout.lane_name(self.folder, number)
        try:
            self.store.create(name, content)
        except NameTaken:
            return False
        if self.store.read(name) != content:  # the store let two through
            return False
        self.number, self._seen = number, lane
        if number > _KEPT:
            self.store.delete(layout.lane_name(self.folder, number - _KEPT))
        return True

    def _read(self, number: int) -> Lane | None:
        content = self.store.read(layout.lane_name(self.folder, number))
        if content is None:
            return None
        with suppress(ValueError):
            return _READER.validate_json(content)
        return Lane()


def _number_of(name: str) -> int:
    digits = name.rpartition("/")[2].removesuffix(".json")
    return int(digits) if digits.isdecimal() else 0
