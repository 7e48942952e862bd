"""What the passes over one watched folder remember: files that wait, moves, and runs not disposed of yet.

What is known of waiting files is derived: without it they only wait anew, and failed files begin to count again.
"""

import json
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from proofsweep.domain.errors import NameTaken, ResultsError
from proofsweep.domain.items import WorkItem
from proofsweep.ingest.moves import FileMove, Move, MovedItem
from proofsweep.ingest.rules import Disposition, KnownBatches, PastAnswer, Sighting
from proofsweep.store.store import Store

# By these a file is recognised that was touched since its answer, or is ineligible: some 2 MB.
MOST_ANSWERS = 5_000

_SIGHTINGS, _ANSWERS, _MOVES, _BATCHES = "sightings.json", "answers.json", "moves.json", "batches.json"

_DAMAGE = (ValueError, TypeError, KeyError, AttributeError)


@dataclass(frozen=True, slots=True)
class Watch:
    """One watched folder in the ingest store; `name` is a watch ID."""

    store: Store
    name: str

    def sightings(self) -> dict[str, Sighting]:
        with suppress(*_DAMAGE):
            document = json.loads(self._content(_SIGHTINGS) or b"{}")
            return {item_id: _sighting(facts) for item_id, facts in document.items()}
        return {}

    def keep(self, sightings: Mapping[str, Sighting]) -> None:
        self._replace(_SIGHTINGS, {item_id: asdict(sighting) for item_id, sighting in sightings.items()})

    def answers(self) -> dict[str, PastAnswer]:
        with suppress(*_DAMAGE):
            return {answer.item_id: answer for answer in map(_answer, json.loads(self._content(_ANSWERS) or b"[]"))}
        return {}

    def keep_answers(self, answers: Iterable[PastAnswer]) -> None:
        self._replace(_ANSWERS, [asdict(answer) for answer in deque(answers, maxlen=MOST_ANSWERS)])

    def moves(self) -> tuple[str | None, list[Move]]:
        """Read the moves that did not end, and the part that takes their rows, if any; ResultsError if damaged."""
        try:
            document = json.loads(self._content(_MOVES) or b'{"part": null, "moves": []}')
            return document["part"], [_move(facts) for facts in document["moves"]]
        except _DAMAGE as damage:
            raise ResultsError(
                f"{self.name}/{_MOVES} in {self.store.url} is damaged: see whether each pair is whole where files are "
                "moved, then delete it."
            ) from damage

    def keep_moves(self, part: str | None, moves: Collection[Move]) -> None:
        """Write which moves begin now, in the place of what was kept before."""
        if moves:
            self._replace(_MOVES, {"part": part, "moves": [asdict(move) for move in moves]})
        else:
            self.store.delete(f"{self.name}/{_MOVES}")

    def batches(self) -> KnownBatches:
        with suppress(*_DAMAGE):
            document = json.loads(self._content(_BATCHES) or b"{}")
            return KnownBatches(
                since={at: datetime.fromisoformat(since) for at, since in document["since"].items()},
                folders=set(document["folders"]),
                senders=set(document["senders"]),
            )
        return KnownBatches()

    def keep_batches(self, known: KnownBatches) -> None:
        facts = asdict(known) | {"folders": sorted(known.folders), "senders": sorted(known.senders)}
        self._replace(_BATCHES, facts)

    def open_runs(self) -> list[str]:
        """List the runs that were begun and not disposed of, oldest first."""
        return [name.rpartition("/")[2].removesuffix(".json") for name in self.store.names(f"{self.name}/runs")]

    def open_run(self, run_id: str) -> None:
        """Note a run before it is planned, so that none is forgotten."""
        try:
            self.store.create(self._run(run_id), b"{}\n")
        except NameTaken as taken:
            raise ResultsError(f"The run {run_id} is noted already.") from taken

    def close_run(self, run_id: str) -> None:
        """Forget a run: all its files are disposed of, or it was never planned."""
        self.store.delete(self._run(run_id))

    def _content(self, name: str) -> bytes | None:
        return self.store.read(f"{self.name}/{name}")

    def _replace(self, name: str, document: object) -> None:
        self.store.replace(f"{self.name}/{name}", json.dumps(document, default=datetime.isoformat).encode())

    def _run(self, run_id: str) -> str:
        return f"{self.name}/runs/{run_id}.json"


def _answer(facts: dict[str, Any]) -> PastAnswer:
    return PastAnswer(**facts | {"verified_at": _time(facts["verified_at"])})


def _move(facts: dict[str, Any]) -> Move:
    return Move(
        files=tuple(FileMove(**file) for file in facts["files"]),
        items=tuple(map(_moved_item, facts["items"])),
        folder=facts["folder"],
    )


def _moved_item(facts: dict[str, Any]) -> MovedItem:
    # A move needs no more of an item: what is declared of its bytes was compared before.
    item = WorkItem(**facts["item"] | {"declared": None, "ineligible": None})
    return MovedItem(item=item, answer=_answer(facts["answer"]), disposition=Disposition(facts["disposition"]))


def _sighting(facts: dict[str, Any]) -> Sighting:
    return Sighting(**facts | {name: _time(facts[name]) for name in ("since", "retry_at")})


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
