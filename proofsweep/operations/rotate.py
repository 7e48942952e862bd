"""Rotate the key, so that no crash loses the new one and no repeat makes a second (contract, Endpoints 3).

Each step leaves something behind that survives the process, and begins by looking for what is there already. So the
same command goes on wherever an earlier one ended; two at once do the same things.

    step                                    leaves behind
    (1) write the intent                    the Idempotency-Key, under the old key's fingerprint
    (2) POST /partner/keys/rotate           at the service: a new key, and its answer for 24 h
    (3) keep the new key beside its place   the new key
    (4) record the answer                   a row of `rotations`
    (5) ask one thing with the new key
    (6) put it into its place               the new key is in use
    (7) write the receipt                   the end
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path

from pydantic import SecretStr

from proofsweep.client.keys import fingerprint, usable_key
from proofsweep.config.sections import ServiceSettings
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import (
    CallFailed,
    ConfigError,
    ProofsweepError,
    ResultsError,
    RotationUnfinished,
    RunIsActive,
    RunMustStop,
)
from proofsweep.domain.exchanges import Exchange
from proofsweep.domain.headers import AnswerHeaders
from proofsweep.domain.models import RotatedKeyResponse
from proofsweep.domain.operations import GRACE_WINDOW, OperationKind, Rotation, RotationIntent
from proofsweep.domain.text import minute_of
from proofsweep.operations.key_store import KeyStore, SecretBlocks, key_store_for
from proofsweep.operations.operation import Operator, end_killed, row_of_call, settle
from proofsweep.operations.rotations import (
    begin_rotation,
    begun_rotation,
    record_rotation,
    recorded_rotations,
    rotation_part_name,
)
from proofsweep.store.journal import Journal
from proofsweep.store.keys import bind_key
from proofsweep.store.legs import Legs
from proofsweep.store.objects import Store
from proofsweep.store.operations import is_complete
from proofsweep.store.parts import Results
from proofsweep.verify.commit import LegParts

REPLAY_WINDOW = timedelta(hours=24)  # contract, Limits: how long the same Idempotency-Key gives the same answer again
_TRIAL_WAITS = (1.0, 2.0, 4.0, 8.0)  # seconds before a refused new key is tried again: a service may need time


@dataclass(frozen=True, slots=True)
class Rotated:
    rotation: Rotation
    location: str
    was_done: bool = False  # whether an earlier command had finished it; then nothing was asked

    def lines(self) -> Iterator[str]:
        """Yield where the new key is, and when the old one ends; never what they are."""
        rotation = self.rotation
        named = "the new key" if rotation.new_key_id is None else f"the new key {rotation.new_key_id}"
        if self.was_done:
            yield f"The key was rotated at {minute_of(rotation.answered_at.astimezone(UTC))}, and nothing was done now."
            yield f"{named.capitalize()} is in {self.location}. --again rotates the key in use once more."
        else:
            yield f"Rotated: {named} is tested, and is in {self.location}."
        at = minute_of(rotation.old_key_ends_at.astimezone(UTC))
        guess = f"about {at}: the service did not say when, and the contract gives it 72 hours"
        ends = guess if rotation.previous_key_expires_at is None else f"at {at}"
        yield f"The old key ends {ends}. A run at work uses it until it is refused, then the new one."
        yield "Put the new key wherever else the old one is used; an alert reminds you a day before the old one ends."

    def document(self) -> dict[str, object]:
        return asdict(self.rotation) | {"place": self.location, "was_done": self.was_done}


@dataclass(frozen=True, slots=True, kw_only=True)
class RotateKey:
    """One command. Its operator has the old key, and makes calls with it."""

    operator: Operator
    key_store: KeyStore  # where the new one goes
    try_key: Callable[[SecretStr, Callable[[Exchange], None]], object]  # makes one call with a key, and records it
    key: SecretStr  # the old one
    calls: list[Exchange] = field(default_factory=list)  # of this command, that are not written yet

    @property
    def results(self) -> Results:
        return self.operator.results

    @property
    def store(self) -> Store:
        return self.results.store

    @property
    def now(self) -> datetime:
        return self.operator.service.clock()

    def rotate(self, *, again: bool = False) -> Rotated:
        """Rotate the key, or go on with a rotation that was begun; `again` rotates a key of a recent rotation, too.

        ConfigError or ResultsError if nothing was asked. RotationUnfinished if the same command goes on later.
        CallFailed or RunMustStop if the service does not rotate the key; the old one is in its place.
        """
        try:
            rotated = self._rotated(again=again)
        except BaseException:
            with suppress(ResultsError):  # what went wrong before is what a person must know
                self._write_calls(begun_rotation(self.store, fingerprint(self.key)))
            raise
        self._write_calls(begun_rotation(self.store, rotated.rotation.key_fingerprint))
        return rotated

    def _rotated(self, *, again: bool) -> Rotated:
        made_by = self._made_by()
        if made_by is not None:
            self._close(begun_rotation(self.store, made_by.key_fingerprint))
            if not again and is_recent(made_by, self.now):
                return Rotated(made_by, self.key_store.name, was_done=True)
        self.key_store.check()
        intent, is_new = self._intent()  # (1)
        rows = recorded_rotations(self.results)
        answered = next((each for each in rows if each.operation_id == intent.operation_id), None)
        if answered is not None and is_complete(self.store, intent.operation_id):
            return Rotated(answered, intent.location, was_done=True)
        rotation, new_key = self._kept(answered) or self._asked(intent, answered, is_new=is_new)  # (2) to (4)
        self._try(new_key)  # (5)
        self._promote(new_key)  # (6)
        self._close(intent)  # (7)
        return Rotated(rotation, self.key_store.name)

    def _made_by(self) -> Rotation | None:
        own = fingerprint(self.key)
        return next((each for each in recorded_rotations(self.results) if each.new_key_fingerprint == own), None)

    def _intent(self) -> tuple[RotationIntent, bool]:
        begun = begun_rotation(self.store, fingerprint(self.key))
        if begun is not None:
            return begin_rotation(self.store, begun), False
        waiting, current = self.key_store.waiting(), self.key_store.current()
        known = {fingerprint(self.key), *(each.key_fingerprint for each in recorded_rotations(self.results))}
        if waiting is not None and fingerprint(waiting) not in known:
            raise ConfigError(
                f"There is a key in {self.key_store.waiting_name} that no rotation of this results store has put "
                "there. Give the results store of that rotation (--results), or move that key away; nothing was "
                "rotated."
            )
        if current is not None and current != self.key:
            raise ConfigError(f"{self.key_store.name} holds another key already; nothing was rotated.")
        self.key_store.discard()
        drawn = RotationIntent(
            **asdict(self.operator.new_operation(OperationKind.ROTATION)),
            idempotency_key=secrets.token_hex(16),  # contract, Limits: 16 to 128 characters
            key_fingerprint=fingerprint(self.key),
            location=self.key_store.name,
        )
        intent = begin_rotation(self.store, drawn)
        return intent, intent == drawn

    def _kept(self, answered: Rotation | None) -> tuple[Rotation, SecretStr] | None:
        found = (key for key in (self.key_store.waiting(), self.key_store.current()) if key is not None)
        matching = (key for key in found if answered and fingerprint(key) == answered.new_key_fingerprint)
        new_key = next(matching, None)
        return None if answered is None or new_key is None else (answered, new_key)

    def _asked(self, intent: RotationIntent, answered: Rotation | None, *, is_new: bool) -> tuple[Rotation, SecretStr]:
        try:
            partner = self.operator.service.partner.in_new_session(self.calls.append)
            answer, headers = partner.rotate(intent.idempotency_key)  # (2)
        except (CallFailed, RunMustStop) as refusal:
            waiting = self.key_store.waiting()
            is_final = isinstance(refusal, RunMustStop) or refusal.status == HTTPStatus.CONFLICT
            if waiting is None or waiting == self.key or answered is not None or not is_final:
                raise self._explained(refusal, intent, is_new=is_new) from refusal
            # it was kept, and a crash came before the record of it
            rotation = self._rotation(intent, waiting, None, AnswerHeaders())
            return record_rotation(self.results, rotation, intent.run_date), waiting
        new_key = self._keep(answer, intent, answered)  # (3)
        rotation = self._rotation(intent, new_key, answer, headers)
        return record_rotation(self.results, rotation, intent.run_date), new_key  # (4)

    def _keep(self, answer: RotatedKeyResponse, intent: RotationIntent, answered: Rotation | None) -> SecretStr:
        new_key, waiting = SecretStr(answer.api_key.get_secret_value().strip()), self.key_store.waiting()
        is_other = waiting not in {None, new_key}
        if is_other or new_key == self.key or (answered and answered.new_key_fingerprint != fingerprint(new_key)):
            raise RotationUnfinished(
                "The service answers this rotation with the old key, or with another one than before, against its "
                f"contract. Nothing was replaced; what came first is in {self.key_store.waiting_name}, if it is there. "
                "Ask the partner's support."
            )
        try:
            self.key_store.keep(usable_key(new_key.get_secret_value(), where="The answer of the service"))
        except ProofsweepError as error:
            until = intent.started_at + REPLAY_WINDOW
            raise RotationUnfinished(
                f"{error.message} The service has rotated the key, and gives the new one again until "
                f"{until:%Y-%m-%d %H:%M} UTC: put that right, and run the same command before. The old key works on."
            ) from error
        return new_key

    def _rotation(
        self, intent: RotationIntent, new_key: SecretStr, answer: RotatedKeyResponse | None, headers: AnswerHeaders
    ) -> Rotation:
        made_by = self._made_by()
        return Rotation(
            operation_id=intent.operation_id,
            environment=intent.environment,
            key_fingerprint=intent.key_fingerprint,
            new_key_fingerprint=fingerprint(new_key),
            requested_at=intent.started_at,
            answered_at=self.now,
            key_id=None if made_by is None else made_by.new_key_id,
            new_key_id=None if answer is None else answer.key_id,
            new_key_name=None if answer is None else answer.name,
            previous_key_expires_at=None if answer is None else answer.previous_key_expires_at,
            replayed=headers.is_replay,
            request_id=headers.request_id,
        )

    def _explained(
        self, refusal: CallFailed | RunMustStop, intent: RotationIntent, *, is_new: bool
    ) -> CallFailed | RunMustStop:
        if isinstance(refusal, RunMustStop):
            if refusal.ended_by != EndedBy.KEY_REFUSED or is_new:
                return refusal
            began = minute_of(intent.started_at)
            lost = f"{refusal.message} A rotation of it began at {began} and was not finished in time."
            return RunMustStop(lost, ended_by=refusal.ended_by)
        if refusal.status == HTTPStatus.CONFLICT:
            why = why_conflict(intent, self.now, was_asked_before=not is_new)
            return CallFailed(f"{refusal.message} {why}", **refusal.facts)  # type: ignore[arg-type]  # its own facts
        is_busy = refusal.status is None or refusal.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        if not (is_busy or refusal.status == HTTPStatus.TOO_MANY_REQUESTS or refusal.reason == "bad_answer"):
            return refusal
        return RunMustStop(
            f"{refusal.message} Whether the key was rotated is not known. Run the same command later, within 24 hours: "
            "it asks for the same rotation again, and never for a second one. The old key works on.",
            ended_by=EndedBy.BREAKER,
        )

    def _try(self, new_key: SecretStr) -> None:
        """Make a call with the new key. A used-up quota is an answer too: only a known key has a quota."""
        for wait_seconds in (*_TRIAL_WAITS, None):
            try:
                self.try_key(new_key, self.calls.append)
            except RunMustStop as stop:
                if stop.ended_by == EndedBy.QUOTA:
                    return
                if stop.ended_by != EndedBy.KEY_REFUSED or wait_seconds is None:
                    raise RunMustStop(self._untested(stop), ended_by=stop.ended_by) from stop
                self.operator.service.stop.rest(wait_seconds)
            except CallFailed as failed:
                if failed.status == HTTPStatus.TOO_MANY_REQUESTS:
                    return
                raise RotationUnfinished(self._untested(failed)) from failed
            else:
                return

    def _untested(self, error: ProofsweepError) -> str:
        return (
            f"The new key could not be tested: {error.message} It waits in {self.key_store.waiting_name}, and the "
            "old key works on in its place. Run the same command again."
        )

    def _promote(self, new_key: SecretStr) -> None:
        current = self.key_store.current()
        if current == new_key:
            self.key_store.discard()
            return
        if current not in {None, self.key}:
            raise RotationUnfinished(
                f"{self.key_store.name} holds a third key by now, which was not replaced. The new key of this rotation "
                f"is tested, and is in {self.key_store.waiting_name}."
            )
        bind_key(self.store, fingerprint(new_key), self.operator.service.partner.base_url)
        self.key_store.promote()

    def _close(self, intent: RotationIntent | None) -> None:
        """Write the calls and the receipt, unless another command has closed the rotation."""
        if intent is not None and not is_complete(self.store, intent.operation_id):
            self._write_leg(intent, EndedBy.COMPLETE)

    def _write_calls(self, intent: RotationIntent | None) -> None:
        """Write the calls of a command that does not finish its rotation, or that came after another one had."""
        if self.calls and intent is not None:
            is_closed = is_complete(self.store, intent.operation_id)
            self._write_leg(intent, EndedBy.COMPLETE if is_closed else EndedBy.ERROR)

    def _write_leg(self, intent: RotationIntent, ended_by: EndedBy) -> None:
        end_killed(self.results, OperationKind.ROTATION)
        legs = Legs(self.store, intent.operation_id)
        leg = legs.last() + 1
        while not _has_taken(legs, leg):  # another command has calls of the same operation
            leg += 1
        journal = Journal(self.results, intent.operation_id, leg, "w", OperationKind.ROTATION.table)
        journal.add(None, [row_of_call(intent, leg, exchange) for exchange in self.calls])
        journal.flush()
        self.calls.clear()
        parts = LegParts(self.results, intent, leg, journal.table)
        parts.close()
        name = rotation_part_name(intent.operation_id, intent.run_date)
        if self.store.read(name) is not None:
            parts.parts[journal.table].append(self.results.part(name))
        settle(parts, ended_by, said={"key_fingerprint": intent.key_fingerprint})


def _has_taken(legs: Legs, leg: int) -> bool:
    with suppress(RunIsActive):
        legs.take(leg)
        return True
    return False


def is_recent(rotation: Rotation, now: datetime) -> bool:
    return now < rotation.old_key_ends_at


def why_conflict(intent: RotationIntent, now: datetime, *, was_asked_before: bool) -> str:
    """Explain a 409 (contract, Errors 6); an earlier command may have rotated the key and lost the answer."""
    elsewhere = (
        "The key was rotated before, elsewhere: by a person, another machine or another results store. It works until "
        f"{_hours(GRACE_WINDOW)} hours after that. Get the new key from whoever has it, or ask the partner."
    )
    if not was_asked_before:
        return elsewhere
    began = minute_of(intent.started_at.astimezone(UTC))
    if now - intent.started_at < REPLAY_WINDOW:
        return f"This rotation began at {began}, and the service does not answer it again. {elsewhere}"
    ends = intent.started_at.astimezone(UTC) + GRACE_WINDOW
    return (
        f"This rotation began at {began}; its answer is given again for {_hours(REPLAY_WINDOW)} hours only, and these "
        f"are over. Nobody can get the new key any more: ask the partner for another one. The old key ends at "
        f"{minute_of(ends)} at the latest."
    )


def _hours(window: timedelta) -> int:
    return int(window.total_seconds() // 3600)


def rotate_key(
    operator: Operator,
    key_store: KeyStore,
    try_key: Callable[[SecretStr, Callable[[Exchange], None]], object],
    *,
    again: bool,
) -> Rotated:
    """Rotate the key that is in use, or go on with it; `try_key` makes one call with another key, and records it."""
    old_key = operator.service.key.current
    rotated = RotateKey(operator=operator, key_store=key_store, try_key=try_key, key=old_key).rotate(again=again)
    operator.service.key.renew(old_key)
    return rotated


def unfinished_rotation(
    store: Store, key_fingerprint: str, service: ServiceSettings, blocks: SecretBlocks
) -> str | None:
    """Return which rotation of the key in use was not finished, and where its new key is; None if there is none."""
    begun = begun_rotation(store, key_fingerprint)
    if begun is not None and is_complete(store, begun.operation_id):
        begun = None
    named = Path(begun.location) if begun is not None and begun.location.startswith("/") else None
    left: list[str] = []
    with suppress(ConfigError):  # the key is in a variable, and nobody has named a file
        left = key_store_for(service, blocks, named).leftovers()
    if begun is None and not left:
        return None
    since = "" if begun is None else f" began at {begun.started_at:%Y-%m-%d %H:%M} UTC and"
    where = f"; its new key is in {' and '.join(left)}" if left else ""
    return f"a rotation of this key{since} was not finished{where}: run `proofsweep keys rotate` again"
