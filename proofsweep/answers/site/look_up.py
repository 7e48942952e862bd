"""The data of the look-up of any file, brought up to date."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from secrets import token_hex

from proofsweep.answers.site.levels import FILES_FOLDER, SITE_SCHEME, STATE_FOLDER, Levels
from proofsweep.answers.site.records import changed_records
from proofsweep.answers.site.site_state import SiteState
from proofsweep.answers.views.connection import answering
from proofsweep.model.run_records import RunRecord
from proofsweep.model.runs import new_run_id
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.store import Store

# Chosen: longer than any update takes; what an update that was killed has written is deleted then.
_ABANDONED = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUp:
    """The state of a site whose data are up to date, the files in them, and how many need attention or have changed."""

    state: SiteState
    files: int
    need_attention: int
    changed: int


def updated_look_up(
    results: Results, store: Store, before: SiteState, runs: Sequence[RunRecord], now: datetime
) -> LookUp:
    """Write a level with what has changed, and make one level of small ones if they are many."""
    version, levels = before.version + 1, list(before.levels)
    with answering(results, before.environment, "catalog") as connection:
        writer = Levels(connection, store)
        try:
            known = writer.reading(levels) if levels else None
            with changed_records(connection, version, known, before.over) as changed:
                if changed.records:
                    levels.append(writer.write(_new_name(now), changed.records, changed.query))
            levels, replaced = writer.merged(_new_name(now), levels)
        finally:
            if connection.filesystem_is_registered(SITE_SCHEME):
                connection.unregister_filesystem(SITE_SCHEME)
    over = tuple(run.plan.run_id for run in runs if run.is_over)
    names = tuple(level.name for level in replaced)
    state = replace(before, version=version, levels=tuple(levels), over=over, replaced=names)
    return LookUp(state=state, files=changed.files, need_attention=changed.need_attention, changed=changed.records)


def delete_old(store: Store, before: SiteState, now: SiteState, at: datetime) -> None:
    """Delete levels that nothing names any more.

    Those that this update has replaced stay until the next one, for pages that are open. If all was made anew, since
    something was removed from the store, what was there before goes at once.
    """
    there = {name for folder in (FILES_FOLDER, STATE_FOLDER) for name in store.folders(folder)}
    kept = {*now.replaced, *(level.name for level in now.levels)}
    old = new_run_id(at - _ABANDONED, "")
    gone = [name for name in there - kept if name in before.replaced or name < old or not before.levels]
    for name in gone:
        for folder in (FILES_FOLDER, STATE_FOLDER):
            store.delete_folder(f"{folder}/{name}")


def _new_name(now: datetime) -> str:
    return new_run_id(now, token_hex(4))
