"""What a site knows of itself: a file that marks its folder as one, and what was written when it was updated last."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256

from pydantic import TypeAdapter

from proofsweep.answers.site.levels import STATE_FOLDER, Level
from proofsweep.errors import UsageError
from proofsweep.files.locations import resolved_location
from proofsweep.model import layout
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.store import Store, json_bytes

MARKER = "site.json"
_STATE = f"{STATE_FOLDER}/state.json"
_ABOUT = {"about": "A site of proofsweep. All in this folder is derived; without its folder _state it is made anew."}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOfSite:
    """One list of what needs attention: of a value of a tag (None: files without the tag), in a format."""

    tag: str  # its key
    value: str | None
    form: str
    name: str  # of the file, quoted for a link


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteState:
    """What the last update left behind.

    Attributes:
        results, environment: the results store that the site is of, and the environment in it.
        removed: a digest of all that was redacted or pruned; what was written before more was removed is made anew.
        version: how many updates have written records.
        over: the runs that had ended, whose answers are in the records.
        nights: the runs that have a page, each with the digest of what the page was made of.
        replaced: levels that a page which is still open may read; the next update deletes them.
        lists: those of what needs attention, by `list_tags`.
    """

    results: str
    environment: str
    removed: str = ""
    version: int = 0
    levels: tuple[Level, ...] = ()
    over: tuple[str, ...] = ()
    nights: Mapping[str, str] = field(default_factory=dict)
    replaced: tuple[str, ...] = ()
    lists: tuple[ListOfSite, ...] = ()
    list_tags: tuple[str, ...] = ()


_READER = TypeAdapter(SiteState)


def state_of_site(store: Store, results: Results, environment: str) -> SiteState:
    """Read what is in the site, and mark a new folder as one; a site without a readable state is made anew.

    Raises:
        UsageError: it holds other files, or the site of another store; or it lies in the results store.
    """
    _refuse_place_in_store(store, results)
    content = None if store.read(MARKER) is None else store.read(_STATE)
    if content is None and store.read(MARKER) is None:
        if store.names("") or store.folders(""):
            raise UsageError(f"{store.url} holds other files, and is no site. Name a new or an empty folder.")
        store.replace(MARKER, json_bytes(_ABOUT))
    try:
        state = _READER.validate_json(content or b"")
    except ValueError:
        return SiteState(results=results.store.url, environment=environment, removed=_removed_from(results))
    if (state.results, state.environment) != (results.store.url, environment):
        raise UsageError(
            f"{store.url} is the site of {state.results} ({state.environment}), not of {results.store.url} "
            f"({environment}). Name another folder, or delete its folder {STATE_FOLDER}."
        )
    removed = _removed_from(results)
    if state.removed != removed or not _is_whole(store, state):
        return replace(state, removed=removed, levels=(), over=(), nights={}, replaced=(), list_tags=())
    return state


def write_state(store: Store, state: SiteState) -> None:
    """Write what is in the site now; the last step of an update."""
    store.replace(_STATE, json_bytes(asdict(state)))


def _refuse_place_in_store(store: Store, results: Results) -> None:
    inside, outside = (f"{resolved_location(each.url)}/" for each in (store, results.store))
    if inside.startswith(outside):
        raise UsageError(f"The site {store.url} cannot lie in the results store. Name a folder outside of it.")


def _is_whole(store: Store, state: SiteState) -> bool:
    """Whether all that the next update reads is there: a person may have deleted some of it."""
    there = {name for level in state.levels for name in store.names(f"{STATE_FOLDER}/{level.name}")}
    return there.issuperset(name for level in state.levels for name in level.state)


def _removed_from(results: Results) -> str:
    """Digest which redactions and prunings there are; each leaves documents behind."""
    store = results.store
    names = [*store.names(layout.REDACTED_FOLDER), *store.folders(layout.PRUNED_FOLDER)]
    return sha256(json.dumps([*names, *store.names(layout.PRUNED_FOLDER)]).encode()).hexdigest()[:16]
