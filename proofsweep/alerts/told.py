"""What was told of each cause, and to whom: an object for each attempt, which one process alone can create."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta

from proofsweep.alerts.events import AlertKind
from proofsweep.alerts.messages import Alert
from proofsweep.domain.errors import NameTaken
from proofsweep.domain.text import minute_of
from proofsweep.store import layout
from proofsweep.store.store import Store, json_bytes, sha256_hex

# All receivers together have 30 s. A process that has told nothing of its attempt after twice as long was killed.
_SENDING = timedelta(seconds=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    alert: Alert
    number: int
    since: datetime  # the first attempt
    tried_at: datetime
    took: tuple[str, ...] = ()  # the receivers that have it
    is_ended: bool = False
    is_over: bool = False  # whether the cause is; then it is remembered for those only who have not heard of it

    @property
    def name(self) -> str:
        return f"{layout.ALERTS_FOLDER}/{sha256_hex(self.alert.cause.encode())[:16]}-{self.number:06}.json"

    def message(self) -> Alert:
        """Return what is sent; it says if it comes late."""
        over = ", and is over" if self.is_over else ""
        late = f"This could not be told at {minute_of(self.since)}{over}.\n" if self.tried_at > self.since else ""
        return replace(self.alert, body=late + self.alert.body)

    def is_due(self, receivers: Iterable[str], now: datetime) -> bool:
        return bool(set(receivers) - set(self.took)) and (self.is_ended or not now - _SENDING < self.tried_at <= now)

    def after(self, over: Sequence[str]) -> "Attempt":
        """Take away what is over, by the begins of causes: all of it, or some of the subjects that have the cause."""
        subjects, cause, begins = self.alert.subjects, f"{self.alert.cause}\t", tuple(f"{each}\t" for each in over)
        left = tuple(each for each in subjects if not f"{cause}{each}\t".startswith(begins))
        is_over = not left if subjects else cause.startswith(begins)
        return replace(self, alert=replace(self.alert, subjects=left or subjects), is_over=self.is_over or is_over)

    def content(self) -> bytes:
        return json_bytes(asdict(self))


def attempts_in(store: Store) -> dict[str, Attempt]:
    """Read the last attempt of each cause; delete one that cannot be understood."""
    found: dict[str, Attempt] = {}
    for name in store.names(layout.ALERTS_FOLDER):
        try:
            it = json.loads(store.read(name) or b"")
            text = it["alert"] | {"kind": AlertKind(it["alert"]["kind"]), "subjects": tuple(it["alert"]["subjects"])}
            times = {each: datetime.fromisoformat(it[each]).astimezone(UTC) for each in ("since", "tried_at")}
            attempt = Attempt(**it | times | {"alert": Alert(**text), "took": tuple(it["took"])})
            found[attempt.alert.cause] = attempt
        except (ValueError, TypeError, AttributeError, KeyError):
            store.delete(name)
    return found


def begin(store: Store, attempt: Attempt) -> bool:
    """Create an attempt in place of the one before; False if another process makes it."""
    try:
        store.create(attempt.name, attempt.content())
    except NameTaken:
        return False
    store.delete(replace(attempt, number=attempt.number - 1).name)
    return True
