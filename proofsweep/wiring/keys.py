"""Keys, wired: list them, and rotate the one in use."""

from contextlib import suppress
from functools import partial
from pathlib import Path

from pydantic import SecretStr

from proofsweep.errors import ConfigError
from proofsweep.model.key_rotation import RotationIntent
from proofsweep.model.operations import OperationKind
from proofsweep.operations.key_places import KeyBlockPlace, KeyFilePlace, KeyPlace, SecretBlocks
from proofsweep.operations.list_keys import ListedKey, list_keys
from proofsweep.operations.rotate_key import Rotated, RotateKey, new_idempotency_key
from proofsweep.operations.rotation_log import RotationLog
from proofsweep.partner.keys import fingerprint
from proofsweep.settings import Settings
from proofsweep.store.operations import Operations
from proofsweep.store.rotations import Rotations
from proofsweep.wiring.engines import ReadBlock, build_engine, engine_for, utc_now
from proofsweep.wiring.operations import new_operation
from proofsweep.wiring.stores import results_for


def listed_keys(settings: Settings, read_block: ReadBlock | None) -> list[ListedKey]:
    """Ask for all keys of the partner; one keyed call for each page. Nothing is written."""
    engine, rotations = engine_for(settings, read_block), Rotations(results_for(settings))
    return list_keys(engine.partner, rotations.answered(), engine.key_fingerprint)


def place_for(settings: Settings, blocks: SecretBlocks, new_key_file: Path | None) -> KeyPlace:
    """Return where a new key goes: a named file, else where the old one is; ConfigError if that is a variable."""
    service = settings.service
    if new_key_file is not None:
        return KeyFilePlace.of(new_key_file, is_new=True)
    if service.api_key_file is not None:
        return KeyFilePlace.of(service.api_key_file)
    if service.api_key_block is not None:
        return KeyBlockPlace(service.api_key_block, blocks)
    where = "no place" if service.api_key_env is None else f"the environment variable {service.api_key_env}"
    raise ConfigError(
        f"The settings keep the key in {where}, where it cannot be replaced: give --new-key-file with a path for the "
        "new key. Nothing was rotated."
    )


def rotate_key(
    settings: Settings, blocks: SecretBlocks, *, new_key_file: Path | None = None, again: bool = False
) -> Rotated:
    """Rotate the key of the settings, or go on with a rotation that was begun.

    The new key goes to `new_key_file`, which must not exist, else to the old place; `again` rotates a recent key too.
    """
    place = place_for(settings, blocks, new_key_file)
    engine, results = engine_for(settings, blocks.read), results_for(settings)
    log = RotationLog(Operations(results), partial(new_operation, settings, OperationKind.ROTATION), utc_now)
    old_key = engine.key.current
    rotated = RotateKey(
        store=results.store,
        rotations=Rotations(results),
        partner=engine.partner.in_new_session(log.note),
        key=old_key,
        place=place,
        try_key=partial(_try_key, settings, log),
        new_intent=partial(_new_intent, settings, old_key),
        log=log,
        clock=utc_now,
        rest=engine.stop.rest,
    ).rotate(again=again)
    engine.key.renew(old_key)
    return rotated


def unfinished_rotation(settings: Settings, blocks: SecretBlocks) -> str | None:
    """Return which rotation of the key in use was not finished, and where its new key is; None if there is none."""
    engine, results = engine_for(settings, blocks.read), results_for(settings)
    begun = Rotations(results).unfinished(engine.key_fingerprint)
    named = Path(begun.place) if begun is not None and begun.place.startswith("/") else None
    left: list[str] = []
    with suppress(ConfigError):  # the key is in a variable, and nobody has named a file
        left = place_for(settings, blocks, named).leftovers()
    if begun is None and not left:
        return None
    since = "" if begun is None else f" began at {begun.requested_at:%Y-%m-%d %H:%M} UTC and"
    where = f"; its new key is in {' and '.join(left)}" if left else ""
    return f"a rotation of this key{since} was not finished{where}: run `proofsweep keys rotate` again"


def _try_key(settings: Settings, log: RotationLog, key: SecretStr) -> None:
    """Make one call with a key, in an engine of its own: a refusal must not stop other work of this process."""
    engine = build_engine(settings, None, key=lambda: key)
    try:
        engine.partner.in_new_session(log.note).usage(days=1)
    finally:
        engine.close()


def _new_intent(settings: Settings, key: SecretStr, place: str) -> RotationIntent:
    operation = new_operation(settings, OperationKind.ROTATION)
    return RotationIntent(
        operation_id=operation.operation_id,
        idempotency_key=new_idempotency_key(),
        environment=operation.environment,
        base_url=operation.base_url,
        key_fingerprint=fingerprint(key),
        place=place,
        created_at=operation.started_at.isoformat(),
    )
