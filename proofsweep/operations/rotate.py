"""Rotate the key, so that no crash loses the new one and no repeat makes a second (contract, Endpoints 3).

Each step leaves something behind that survives the process, and begins by looking for what is there already. So the
same command goes on wherever an earlier one ended.

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
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from pathlib import Path

from pydantic import SecretStr, TypeAdapter

from proofsweep.client.keys import fingerprint, usable_key
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import (
    CallFailed,
    ConfigError,
    NameTaken,
    ProofsweepError,
    RotationUnfinished,
    RunMustStop,
)
from proofsweep.domain.exchanges import AnswerHeaders, Call, Exchange, Failure
from proofsweep.domain.models import RotatedKeyResponse
from proofsweep.domain.runs import OperationKind, Rotation, RotationIntent
from proofsweep.domain.text import minute_of, printable
from proofsweep.operations.key_store import KeyStore
from proofsweep.operations.operation import OperationLeg, Operator, active_legs
from proofsweep.store import layout
from proofsweep.store.objects import Store, json_bytes, read_document
from proofsweep.store.operations import is_complete
from proofsweep.store.parts import Results
from proofsweep.verify.service import bind_key

REPLAY_WINDOW = timedelta(hours=24)  # contract, Limits: how long the same Idempotency-Key gives the same answer again
_TRIAL_WAITS = (1.0, 2.0, 4.0, 8.0)  # seconds before a refused new key is tried again: a service may need time
_ROTATED_BEFORE = (
    "The key was rotated before, perhaps elsewhere; it works until 72 hours after that. Get the new key from whoever "
    "has it. The answer to an interrupted rotation is given again for 24 hours only: after that ask the partner for a "
    "key."
)
_NOT_KNOWN = (
    "Whether the key was rotated is not known. Run the same command later, within 24 hours: it asks for the same "
    "rotation again, and never for a second one. The old key works on."
)

_LOCATION = "location"  # where the new key goes, as the log has it of a leg
_Answer = tuple[RotatedKeyResponse, AnswerHeaders, datetime]  # and when it was asked for
TryKey = Callable[[SecretStr, Callable[[Exchange], None]], object]
"""Makes one call with a key, and records it."""


@dataclass(frozen=True, slots=True)
class Rotated:
    rotation: Rotation
    location: str
    was_done: bool = False  # whether an earlier command had finished it; then nothing was asked
    unwritten: Path | None = None  # the file that was named for the new key, if that is somewhere else

    def lines(self) -> Iterator[str]:
        """Yield where the new key is, and when the old one ends; never what they are."""
        rotation = self.rotation
        named = "the new key" if rotation.new_key_id is None else f"the new key {rotation.new_key_id}"
        if self.was_done:
            answered_at = minute_of(rotation.answered_at.astimezone(UTC))
            yield f"The key was rotated at {answered_at}, and nothing was done now."
            yield f"{named.capitalize()} is in {self.location}."
        else:
            yield f"Rotated: {named} is tested, and is in {self.location}."
        if self.unwritten is not None:
            yield f"Nothing was written to {self.unwritten}: copy the new key there if it is wanted there too."
        about = "about " if rotation.previous_key_expires_at is None else ""
        ends = minute_of(rotation.old_key_ends_at.astimezone(UTC))
        yield f"The old key ends at {about}{ends}. A run at work uses it until it is refused, then the new one."
        yield "Put the new key wherever else the old one is used; an alert reminds you a day before the old one ends."

    def document(self) -> dict[str, object]:
        return asdict(self.rotation) | {"place": self.location, "was_done": self.was_done}


def rotate_key(operator: Operator, key_store: KeyStore, try_key: TryKey) -> Rotated:
    """Rotate the key that is in use, or go on with a rotation of it that was begun; not within 72 hours of one.

    ConfigError or ResultsError if nothing was asked. RotationUnfinished if the same command goes on later, or if a
    person must bring the new key here. CallFailed or RunMustStop if the service does not rotate the key; the old one is
    in its place.
    """
    results = operator.results
    key = operator.service.key.current
    now = operator.service.clock()
    active = active_legs(results, OperationKind.ROTATION)
    # A command that is at work may have put this key into its place, and not have recorded that yet.
    if operator.environment in active:
        raise active[operator.environment]
    made_by = _rotation_to(results, key)
    if made_by is not None and now < made_by.old_key_ends_at:
        return _done_lately(results, key_store, key, made_by)
    key_store.check()
    intent = begun_rotation(results.store, fingerprint(key)) or _begun_now(operator, key_store, key)  # (1)
    recorded = _row_of(intent, results)
    if recorded is not None and is_complete(results, intent.operation_id):
        return _done_before(operator, key_store, recorded, intent)
    with operator.leg_of(intent.operation, {_LOCATION: str(key_store.path)}) as work:
        recorded = _row_of(intent, results)  # another command may have made it before this one had the lease
        answer = _kept(key_store, recorded) or _asked(work, intent, key_store)  # (2), (3)
        new_key = answer[0].api_key
        if recorded is None:
            key_id = None if made_by is None else made_by.new_key_id
            recorded = _recorded(work, intent, answer, key_id)  # (4)
        _try(work, key_store, try_key, new_key)  # (5)
        _promote(operator, key_store, new_key)  # (6)
    operator.service.key.renew(key)  # after (7)
    return Rotated(recorded, str(key_store.path))


def _rotation_to(results: Results, key: SecretStr) -> Rotation | None:
    key_fingerprint = fingerprint(key)
    for rotation in recorded_rotations(results):
        if rotation.new_key_fingerprint == key_fingerprint:
            return rotation
    return None


def _done_lately(results: Results, key_store: KeyStore, key: SecretStr, made_by: Rotation) -> Rotated:
    # An earlier rotation made the key in use, and the key before it still works: nothing is asked.
    if key_store.current() == key:
        return Rotated(made_by, str(key_store.path), was_done=True)
    elsewhere = _place_of(results, made_by.operation_id)
    return Rotated(made_by, elsewhere, was_done=True, unwritten=key_store.path)


def _done_before(operator: Operator, key_store: KeyStore, rotation: Rotation, intent: RotationIntent) -> Rotated:
    """Return where this machine has the new key of a rotation of the key in use; RotationUnfinished if it has not."""
    # Another machine, or a command with another file for the new key, may have done the rotation.
    waiting = key_store.waiting()
    if waiting is not None and fingerprint(waiting) == rotation.new_key_fingerprint:
        _promote(operator, key_store, waiting)
    # The key may be where this command would put it, or where the first one did.
    for place in (key_store, KeyStore(Path(intent.location))):
        new_key = place.current()
        if new_key is not None and fingerprint(new_key) == rotation.new_key_fingerprint:
            unwritten = None if place.path == key_store.path else key_store.path
            return Rotated(rotation, str(place.path), was_done=True, unwritten=unwritten)
    raise RotationUnfinished(f"Nothing was rotated: {_left_to_do(operator.results, rotation)}")


def _left_to_do(results: Results, rotation: Rotation) -> str:
    """Return what a person must do about a key that is in use here, and was rotated."""
    answered_at = minute_of(rotation.answered_at.astimezone(UTC))
    ends = minute_of(rotation.old_key_ends_at.astimezone(UTC))
    place = _place_of(results, rotation.operation_id)
    return (
        f"the key that is in use here was rotated at {answered_at}, and ends at {ends}. The new key is in {place}: put "
        "it into the place of the old one"
    )


def _place_of(results: Results, operation_id: str) -> str:
    """Return where a rotation has put its new key: the file, and the machine."""
    record = results.log.runs().operations.get(operation_id)
    if record is None or not record.begun:
        return "another place"
    holder = record.begun[-1].holder
    return printable(f"{holder.facts.get(_LOCATION)} on {holder.host}")


def _begun_now(operator: Operator, key_store: KeyStore, key: SecretStr) -> RotationIntent:
    """Write the intent, durably, unless something is in the way; return the one that counts: another may be first."""
    if key_store.waiting() is not None:
        raise ConfigError(
            f"There is a key in {key_store.waiting_path} that no rotation of the key in use has put there. Give "
            "the results store of that rotation (--results), or move that key away; nothing was rotated."
        )
    if key_store.current() not in {None, key}:
        raise ConfigError(f"{key_store.path} holds another key already; nothing was rotated.")
    # The Idempotency-Key is stored before the call: whoever repeats the command asks for the same rotation again, and
    # gets the same new key.
    operation = operator.new_operation(OperationKind.ROTATION)
    intent = RotationIntent(
        **asdict(operation),
        idempotency_key=secrets.token_hex(16),  # contract, Limits: 16 to 128 characters
        key_fingerprint=fingerprint(key),
        location=str(key_store.path),
    )
    store = operator.results.store
    try:
        store.create(layout.rotation_name(intent.key_fingerprint), json_bytes(asdict(intent)))
    except NameTaken:
        return begun_rotation(store, intent.key_fingerprint) or intent
    return intent


def _kept(key_store: KeyStore, recorded: Rotation | None) -> _Answer | None:
    """Return the new key that an earlier command has kept, beside its place or in it; nothing else is known of it."""
    waiting = key_store.waiting()
    current = key_store.current()
    if waiting is not None:
        kept_at = datetime.fromtimestamp(key_store.waiting_path.stat().st_mtime, UTC)
        return RotatedKeyResponse.model_construct(api_key=waiting), AnswerHeaders(), kept_at
    if recorded is None or current is None or fingerprint(current) != recorded.new_key_fingerprint:
        return None
    return RotatedKeyResponse.model_construct(api_key=current), AnswerHeaders(), recorded.requested_at


def _asked(work: OperationLeg, intent: RotationIntent, key_store: KeyStore) -> _Answer:
    asked_at = work.service.clock()
    answer, _ = work.ask(Call.ROTATE, lambda partner: partner.rotate(intent.idempotency_key))  # (2)
    if isinstance(answer, CallFailed):
        raise _explained(answer, intent, key_store)
    response, headers = answer
    try:
        new_key = usable_key(response.api_key.get_secret_value(), where="The answer of the service")
        key_store.keep(new_key)  # (3)
    except ProofsweepError as error:
        until = f"until {minute_of(asked_at.astimezone(UTC) + REPLAY_WINDOW)}"
        if headers.is_replay:  # which does not say when the first answer was given
            until = "for 24 hours after it was first asked"
        raise RotationUnfinished(
            f"{error.message} The service has rotated the key, and gives the new one again {until}: put that right, "
            "and run the same command before. The old key works on."
        ) from error
    return response.model_copy(update={"api_key": new_key}), headers, asked_at


def _explained(refusal: CallFailed, intent: RotationIntent, key_store: KeyStore) -> CallFailed | RunMustStop:
    if refusal.status == HTTPStatus.CONFLICT:
        refusal.message += f" {_ROTATED_BEFORE}"
        location = intent.location
        if location != str(key_store.path):
            refusal.message += f" An earlier command was to put the new one into {location}: look in {location}.new."
        return refusal
    # Without an answer the service may have rotated the key. A repeat asks with the same Idempotency-Key.
    if refusal.is_outage or refusal.reason == Failure.BAD_ANSWER:
        return RunMustStop(f"{refusal.message} {_NOT_KNOWN}", ended_by=EndedBy.BREAKER)
    return refusal


def _recorded(work: OperationLeg, intent: RotationIntent, answer: _Answer, key_id: str | None) -> Rotation:
    response, headers, asked_at = answer
    answered_at = work.service.clock()
    new_fingerprint = fingerprint(response.api_key)
    rotation = Rotation(
        operation_id=intent.operation_id,
        environment=intent.environment,
        key_fingerprint=intent.key_fingerprint,
        new_key_fingerprint=new_fingerprint,
        requested_at=asked_at,
        answered_at=answered_at,
        key_id=key_id,
        new_key_id=response.key_id,
        new_key_name=response.name,
        previous_key_expires_at=response.previous_key_expires_at,
        replayed=headers.is_replay,
        request_id=headers.request_id,
    )
    work.add(asdict(rotation))
    work.trail.flush()
    return rotation


def _try(work: OperationLeg, key_store: KeyStore, try_key: TryKey, new_key: SecretStr) -> None:
    # A service may need time until it knows a new key, so that one refusal says nothing.
    for wait_seconds in (*_TRIAL_WAITS, None):
        try:
            try_key(new_key, partial(work.trail.record, None))
        except (CallFailed, RunMustStop) as error:
            if _is_quota_used(error):
                return
            is_refused = isinstance(error, RunMustStop) and error.ended_by is EndedBy.KEY_REFUSED
            if not is_refused or wait_seconds is None:
                raise RotationUnfinished(
                    f"The new key could not be tested: {error.message} It waits in {key_store.waiting_path}, and the "
                    "old key works on in its place. Run the same command again."
                ) from error
            work.service.stop.rest(wait_seconds)
        else:
            return


def _is_quota_used(error: CallFailed | RunMustStop) -> bool:
    """Whether the answer to a new key is that its quota is used up: only a known key has a quota."""
    if isinstance(error, RunMustStop):
        return error.ended_by is EndedBy.QUOTA
    return error.status == HTTPStatus.TOO_MANY_REQUESTS


def _promote(operator: Operator, key_store: KeyStore, new_key: SecretStr) -> None:
    current = key_store.current()
    if current not in {None, operator.service.key.current, new_key}:
        raise RotationUnfinished(
            f"{key_store.path} holds a third key by now, which was not replaced. The new key of this rotation is "
            f"tested, and is in {key_store.waiting_path}."
        )
    bind_key(operator.results.store, fingerprint(new_key), operator.service.partner.base_url)
    # An earlier command, or a person, may have put it there.
    if current != new_key or key_store.waiting() is not None:
        key_store.promote()


_INTENT = TypeAdapter(RotationIntent)


def begun_rotation(store: Store, key_fingerprint: str) -> RotationIntent | None:
    """Read the intent for a key; None if no rotation of it began here. ResultsError if it is damaged."""
    return read_document(store, layout.rotation_name(key_fingerprint), _INTENT)


def recorded_rotations(results: Results) -> list[Rotation]:
    """Read all rows, the oldest first. ResultsError if a part is damaged."""
    table = results.table("rotations", results.all_parts("rotations"))
    return [Rotation(**row) for row in table.sort_by("answered_at").to_pylist()]


def _row_of(intent: RotationIntent, results: Results) -> Rotation | None:
    for rotation in recorded_rotations(results):
        if rotation.operation_id == intent.operation_id:
            return rotation
    return None


def rotation_left(results: Results, key_fingerprint: str) -> str | None:
    """Return what is left to do about a rotation of the key in use; None if it was not rotated."""
    intent = begun_rotation(results.store, key_fingerprint)
    if intent is None:
        return None
    rotation = _row_of(intent, results)
    if rotation is not None and is_complete(results, intent.operation_id):
        return _left_to_do(results, rotation)
    began = minute_of(intent.started_at)
    return f"a rotation of this key began at {began} and was not finished: run `proofsweep keys rotate` again"
