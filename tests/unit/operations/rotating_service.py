"""A service in this process that rotates keys as the contract says, and a place, a store and a command for it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from pydantic import SecretStr

from proofsweep.client.client import Partner
from proofsweep.client.keys import CurrentKey, key_file
from proofsweep.client.reply import Reply, Request
from proofsweep.config.threads import StopSwitch
from proofsweep.domain.exchanges import Call
from proofsweep.operations.key_store import KeyStore
from proofsweep.operations.rotate import Rotated, rotate_key
from proofsweep.pacing.call_queue import CallQueue
from proofsweep.pacing.pacer import Pacer
from proofsweep.pacing.scheduler import Scheduler
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results

from ..ended_operations import let_operations_die
from ..scripted_service import NOW, Scripted, ScriptedService
from .conftest import operator_with

OLD = "pk_old"


class RotatingService(ScriptedService):
    """Mints keys `pk_new_1`, `pk_new_2` …, each with an end of the old one; replays an answer for 24 hours."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.ends: dict[str, datetime] = {}
        self.minted: list[str] = []
        self.refused_trials = 0  # how often a minted key is refused before it is known
        self.lost = 0  # answers to rotations that are lost on their way
        self.lost_as = Scripted(status=None)  # what comes in place of such an answer
        self.forgotten: set[str] = set()  # members that the answers lack
        self._replays: dict[tuple[str, str], tuple[datetime, dict[str, object]]] = {}

    def send(self, request: Request, *, attempt: int, key: SecretStr | None) -> Reply:
        assert key is not None
        on_call, self.on_call = self.on_call, lambda _call: None
        on_call(request.call)
        if not self.script[request.call]:
            self.script[request.call] = [self._answer(request, key.get_secret_value())]
        reply = super().send(request, attempt=attempt, key=key)
        self.on_call = on_call
        is_replay = request.call is Call.ROTATE and reply.exchange.is_success and self._is_replay
        headers = replace(reply.exchange.headers, is_replay=is_replay)
        return replace(reply, exchange=replace(reply.exchange, headers=headers))

    def _answer(self, request: Request, key: str) -> Scripted:
        if key not in {OLD, *self.minted} or self.ends.get(key, self.now) < self.now:
            return Scripted(status=403, error_code="forbidden")
        if request.call is not Call.ROTATE:
            self.refused_trials -= key in self.minted
            is_refused = self.refused_trials >= 0 and key in self.minted
            return Scripted(status=403, error_code="forbidden") if is_refused else self.usual[Call.USAGE]
        answer = self._rotated(key, request.headers["Idempotency-Key"])
        self.lost -= 1
        return self.lost_as if self.lost >= 0 else answer

    def _rotated(self, key: str, idempotency_key: str) -> Scripted:
        at, document = self._replays.get((key, idempotency_key), (NOW, {}))
        self._is_replay = bool(document) and self.now - at < timedelta(hours=24)
        if self._is_replay:
            return Scripted(status=201, document=document)
        if key in self.ends:
            return Scripted(status=409, document={"code": "conflict"})
        self.ends[key] = self.now + timedelta(hours=72)
        self.minted.append(f"pk_new_{len(self.minted) + 1}")
        document = {"apiKey": self.minted[-1], "keyId": f"k{len(self.minted)}", "name": "a key"}
        document["previousKeyExpiresAt"] = int(self.ends[key].timestamp())
        document = {name: member for name, member in document.items() if name not in self.forgotten}
        self._replays[key, idempotency_key] = (self.now, document)
        return Scripted(status=201, document=document)


@dataclass(slots=True)
class Installation:
    """A key file, a results store, and the command that rotates the key; each run is a process of its own."""

    folder: Path
    partner: Partner
    service: RotatingService
    new_key_file: Path | None = None  # where the new key goes, if not into the key file
    now: datetime = NOW
    waits: list[float] = field(default_factory=list)  # what was waited, in seconds

    @property
    def key_file(self) -> Path:
        return self.folder / "key"

    @property
    def results(self) -> Results:
        return Results(FolderStore(self.folder / "results"))

    def rotate(self) -> Rotated:
        """Run the command, after those before it are dead."""
        let_operations_die(self.results)
        return self.command()()

    def command(self) -> Callable[[], Rotated]:
        key = key_file(self.key_file)()
        key_store = KeyStore((self.new_key_file or self.key_file).resolve())
        operator = operator_with(self.results, self._with(key), lambda: self.now, key)
        operator.service.stop.rest = self.waits.append  # type: ignore[method-assign]  # nobody waits here
        return partial(
            rotate_key,
            operator,
            key_store,
            lambda new_key, record: self._with(new_key).in_new_session(record).usage(days=1),
        )

    def receipts(self) -> list[Path]:
        found = sorted((self.folder / "results/_runs").glob("*/legs/*/receipt.json"))
        return [path for path in found if json.loads(path.read_bytes())["ended_by"] == "complete"]

    def _with(self, key: SecretStr) -> Partner:
        """Make a partner with an engine's own switch."""
        context = self.partner.session.context
        settings = context.service.model_copy(update={"environment": "sandbox"})
        scheduler = Scheduler(CallQueue(Pacer(first_rate=10_000.0)), StopSwitch())
        context = replace(context, service=settings, key=CurrentKey(lambda: key), scheduler=scheduler)
        return replace(self.partner, session=replace(self.partner.session, context=context))
