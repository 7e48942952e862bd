"""Operations, audits and questions about rows: what each needs, from the settings."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from pydantic import SecretStr

from proofsweep.audit import prune as pruning
from proofsweep.audit.findings import Audit
from proofsweep.audit.prune import Keep, Prunable
from proofsweep.audit.receipts import checked_head
from proofsweep.audit.store import audit_store
from proofsweep.config.load import Settings
from proofsweep.domain.errors import ConfigError
from proofsweep.domain.models import ProofSummary
from proofsweep.domain.operations import ListedKey, OperationKind, SecretBlocks
from proofsweep.operations import erase as erasing
from proofsweep.operations import inventory, notes, recover
from proofsweep.operations.erase import Erasure, ProofList
from proofsweep.operations.erase import read_proof_list as read_proof_list  # noqa: PLC0414 - commands name it
from proofsweep.operations.inventory import Inventory
from proofsweep.operations.key_store import BlockKeyStore, FileKeyStore, KeyStore
from proofsweep.operations.notes import NotesRefreshed
from proofsweep.operations.operation import OperationContext
from proofsweep.operations.recover import Recovered, RecoveryRequest
from proofsweep.operations.rotate import Rotated, RotateKey, RotationLog, list_keys
from proofsweep.queries.selected_rows import SelectedRows
from proofsweep.store.keys import Rotations
from proofsweep.store.operations import Operations
from proofsweep.store.parts import Results
from proofsweep.store.prunings import Pruning
from proofsweep.wiring.engines import build_engine, engine_for, utc_now
from proofsweep.wiring.key_sources import ReadBlock
from proofsweep.wiring.stores import results_for


def operation_context(settings: Settings, read_block: ReadBlock | None = None) -> OperationContext:
    engine = engine_for(settings, read_block)
    return OperationContext(
        results=results_for(settings),
        environment=settings.service.environment,
        bounds=settings.bounds,
        partner=engine.partner,
        key_fingerprint=lambda: engine.key_fingerprint,
        unattributed=engine.unattributed,
        usable_service=engine.usable_service,
        files=engine.files,
        clock=utc_now,
    )


def inventory_proofs(settings: Settings, read_block: ReadBlock | None = None) -> Inventory:
    return inventory.inventory_proofs(operation_context(settings, read_block))


def recover_sidecars(settings: Settings, wanted: RecoveryRequest, read_block: ReadBlock | None = None) -> Recovered:
    if settings.service.sidecar_field is None:
        raise ConfigError("The sidecar's wire name is not set: ask the partner for it and set service.sidecar_field.")
    context = operation_context(settings, read_block)
    return recover.recover_sidecars(context, wanted)


def refresh_interpretations(
    settings: Settings, read_block: ReadBlock | None = None, max_calls: int | None = None
) -> NotesRefreshed:
    return notes.refresh_notes(operation_context(settings, read_block), max_calls)


def erase_proofs(
    settings: Settings,
    wanted: ProofList,
    read_block: ReadBlock | None,
    told: Callable[[Erasure], object] = lambda _erasure: None,
) -> erasing.ErasureReport:
    return erasing.erase_proofs(operation_context(settings, read_block), wanted, told)


def names_of(settings: Settings, wanted: ProofList) -> dict[str, str]:
    return erasing.names_of(results_for(settings), settings.service.environment, wanted)


def masters_of(settings: Settings, run_id: str) -> tuple[str | None, bool]:
    return inventory.masters_of(results_for(settings), run_id)


def listed_keys(settings: Settings, read_block: ReadBlock | None) -> list[ListedKey]:
    engine, rotations = engine_for(settings, read_block), Rotations(Operations(results_for(settings)))
    return list_keys(engine.partner, rotations.answered(), engine.key_fingerprint)


def key_store_for(settings: Settings, blocks: SecretBlocks, new_key_file: Path | None) -> KeyStore:
    """Return where a new key goes: a named file, else where the old one is; ConfigError if that is a variable."""
    kept = settings.service
    if new_key_file is not None:
        return FileKeyStore.of(new_key_file, is_new=True)
    if kept.api_key_file is not None:
        return FileKeyStore.of(kept.api_key_file)
    if kept.api_key_block is not None:
        return BlockKeyStore(kept.api_key_block, blocks)
    where = "no place" if kept.api_key_env is None else f"the environment variable {kept.api_key_env}"
    raise ConfigError(
        f"The settings keep the key in {where}, where it cannot be replaced: give --new-key-file with a path for the "
        "new key. Nothing was rotated."
    )


def rotate_key(
    settings: Settings, blocks: SecretBlocks, *, new_key_file: Path | None = None, again: bool = False
) -> Rotated:
    """Rotate the key, or go on with it; the new one goes to `new_key_file`, which must not exist, or the old place."""
    key_store = key_store_for(settings, blocks, new_key_file)
    engine, results = engine_for(settings, blocks.read), results_for(settings)
    new_operation = partial(operation_context(settings, blocks.read).new_operation, OperationKind.ROTATION)
    log, old_key = RotationLog(Operations(results), new_operation, utc_now), engine.key.current
    rotated = RotateKey(
        results=results,
        partner=engine.partner.in_new_session(log.note),
        key=old_key,
        key_store=key_store,
        try_key=partial(_try_key, settings, log),
        new_operation=new_operation,
        log=log,
        clock=utc_now,
        rest=engine.stop.rest,
    ).rotate(again=again)
    engine.key.renew(old_key)
    return rotated


def unfinished_rotation(settings: Settings, blocks: SecretBlocks) -> str | None:
    """Return which rotation of the key in use was not finished, and where its new key is; None if there is none."""
    begun = Rotations(Operations(results_for(settings))).unfinished(engine_for(settings, blocks.read).key_fingerprint)
    named = Path(begun.location) if begun is not None and begun.location.startswith("/") else None
    left: list[str] = []
    with suppress(ConfigError):  # the key is in a variable, and nobody has named a file
        left = key_store_for(settings, blocks, named).leftovers()
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


def selected_rows(settings: Settings, run_id: str | None, outcomes: Sequence[str]) -> SelectedRows:
    """Choose rows of a run; without one, of how each file stands now in the settings' environment."""
    return SelectedRows.of(results_for(settings), run_id, settings.service.environment, outcomes=outcomes)


def audited(settings: Settings, run_id: str | None, head: str | None, progress: Callable[[str], None]) -> Audit:
    """Check the store or one run of it; UsageError, before anything is read, if the head is none."""
    wanted = None if head is None else checked_head(head)
    return audit_store(results_for(settings), run_id, wanted, progress)


def find_prunable(results: Results, days: int, keep: Keep) -> Prunable:
    return pruning.find_prunable(results, days, keep, utc_now())


def prune(results: Results, found: Prunable) -> list[Pruning]:
    return pruning.prune(results, found, utc_now)


def newest_proofs(settings: Settings, read_block: ReadBlock, limit: int) -> tuple[list[ProofSummary], str | None]:
    return inventory.newest_proofs(engine_for(settings, read_block).partner.in_new_session(lambda _: None), limit)
