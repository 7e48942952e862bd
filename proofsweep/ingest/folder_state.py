"""What passes over one watched folder remember, in documents of the ingest store."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Self

from pydantic import TypeAdapter

from proofsweep.domain.errors import ResultsError
from proofsweep.ingest.move import Move
from proofsweep.ingest.rules import Sighting
from proofsweep.store import layout
from proofsweep.store.lease import TERMS_KEPT, Term

_STATE, _MOVES, _HELD = "state.json", "moves.json", "held.json"

_SOME_MOVES = TypeAdapter(tuple[Move, ...])
_TEXTS = TypeAdapter(dict[str, str])
_STATE_KINDS: Mapping[str, TypeAdapter[Any]] = {
    "sightings": TypeAdapter(dict[str, Sighting]),
    "runs": TypeAdapter(list[str]),
    "spoken": _TEXTS,
    "asks_held": TypeAdapter(bool),
}
_DOCUMENTS: Mapping[str, Mapping[str, TypeAdapter[Any]]] = {
    _HELD: {"held": _SOME_MOVES},
    _MOVES: {"moves": _SOME_MOVES},
    _STATE: _STATE_KINDS,  # the last one is the sign that the others are there
}
# Of all terms together, as earlier versions wrote them.
_BEFORE_TERMS = {
    _HELD: _DOCUMENTS[_HELD],
    _STATE: {**_STATE_KINDS, "moves": _SOME_MOVES, "part": TypeAdapter(str | None)},
}


@dataclass(slots=True, kw_only=True)
class FolderState:
    """What passes over one watched folder remember.

    Each process writes documents of its own term, and begins with what the last one before it has saved. So a process
    that was frozen, and wakes up after another has taken the folder over, overwrites nothing.
    """

    term: Term
    sightings: dict[str, Sighting] = field(default_factory=dict)  # of files that wait, by their places
    moves: Sequence[Move] = ()  # that have begun, and did not end
    runs: list[str] = field(default_factory=list)  # that were begun and not disposed of, oldest first
    # Of files that were moved away from under a list of checksums, by their places: the version of the list, which says
    # nothing of the next file that comes there.
    spoken: dict[str, str] = field(default_factory=dict)
    held: Sequence[Move] = ()  # deliveries in quarantine that hold accepted files
    asks_held: bool = False  # whether a file was moved since it was last asked which of them go on
    is_changed: bool = field(default=False, compare=False)  # whether a move taught something that is not saved yet

    @classmethod
    def load(cls, term: Term) -> Self:
        """Read what was saved last, and save it as this term's.

        ResultsError if it is damaged; RunIsActive if the term is lost.
        """
        store, name = term.lease.store, term.lease.name
        for folder in _folders(term):
            documents = _BEFORE_TERMS if folder == name else _DOCUMENTS
            if store.read(f"{folder}/{_STATE}") is None:
                continue
            state = cls(term=term, **_facts(term, folder, documents))
            if folder == state.folder:
                return state
            state._write_all()
            for document in documents:
                store.delete(f"{folder}/{document}")
            return state
        state = cls(term=term)
        state._write_all()
        return state

    @property
    def folder(self) -> str:
        """Return the folder in the store in which this term's documents lie."""
        return layout.leg_folder(self.term.lease.name, self.term.number)

    def save(self) -> None:
        """Save all but the moves and what is held, which change at other times."""
        self._write(_STATE)
        self.is_changed = False

    def note_moves(self, moves: Collection[Move]) -> None:
        """Note which moves begin now, in the place of what was noted before."""
        if [*moves] != [*self.moves]:
            self.moves = tuple(moves)
            self._write(_MOVES)

    def hold(self, held: Sequence[Move]) -> None:
        """Note which deliveries in quarantine hold accepted files."""
        if [*held] != [*self.held]:
            self.held = tuple(held)
            self._write(_HELD)

    @property
    def held_places(self) -> tuple[set[str], set[str]]:
        """Where accepted files of held deliveries were, and all that is no audio; and where their other audio was."""
        delivered: set[str] = set()
        others: set[str] = set()
        for move in self.held:
            for file in move.files:
                delivered.add(file.source)
            for item, answer in move.items:
                if answer.outcome != "accepted":
                    others.add(item.audio)
        return delivered - others, others

    def open_run(self, run_id: str) -> None:
        """Note a run before it is planned, so that none is forgotten."""
        self.runs.append(run_id)
        self.save()

    def close_run(self, run_id: str) -> None:
        """Forget a run: all its files are disposed of, or it was never planned."""
        self.runs.remove(run_id)
        self.save()

    def _write_all(self) -> None:
        for document in _DOCUMENTS:
            self._write(document)

    def _write(self, document: str) -> None:
        if self.term.is_lost():
            raise self.term.lost_error()
        facts = {name: getattr(self, name) for name in _DOCUMENTS[document]}
        content = json.dumps(facts, default=_plain)
        self.term.lease.store.replace(f"{self.folder}/{document}", content.encode())


def _folders(term: Term) -> Iterator[str]:
    """Yield where documents may lie, the newest first."""
    name = term.lease.name
    for number in range(term.number, max(term.number - TERMS_KEPT, 0), -1):
        yield layout.leg_folder(name, number)
    yield name


def _facts(term: Term, folder: str, documents: Mapping[str, Mapping[str, TypeAdapter[Any]]]) -> dict[str, Any]:
    store = term.lease.store
    facts: dict[str, Any] = {}
    for document, kinds in documents.items():
        content = store.read(f"{folder}/{document}")
        if content is None:
            continue
        try:
            cells = json.loads(content)
            facts |= {fact: kind.validate_python(cells[fact]) for fact, kind in kinds.items()}
        except (ValueError, TypeError, KeyError) as damage:
            raise ResultsError(
                f"{folder}/{document} in {store.url} is damaged: see whether each pair is whole where files are "
                "moved, then delete it."
            ) from damage
    part = facts.pop("part", None)  # one for all moves, as earlier versions had it
    if part is not None:
        facts["moves"] = tuple(replace(move, part=part) for move in facts["moves"])
    return facts


def _plain(value: Any) -> object:  # noqa: ANN401 - a dataclass or a time
    return value.isoformat() if isinstance(value, datetime) else asdict(value)
