"""What the passes over one watched folder remember: files that wait, and runs whose files are not disposed of yet.

What is known of waiting files is derived: without it they only wait anew, and failed files begin to count again.
"""

import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from proofsweep.domain.ingest import PastAnswer, Sighting
from proofsweep.errors import NameTaken, ResultsError
from proofsweep.storage.results.store import Store, open_store

# By these a file is recognised that was renamed since its answer. Chosen: some 2 MB; half forgets a delivery of several
# thousand files sooner, and verifies those that are renamed once more; twice doubles what each pass reads.
MOST_ANSWERS = 5_000

# Inside the results store, so that one URL holds everything.
_FOLDER = "_ingest"
_SIGHTINGS, _ANSWERS, _LETTERS = "sightings.json", "answers.json", "letters.json"


def ingest_store(results_url: str) -> Store:
    """Open the part of a results store in which watched folders and their claims are kept."""
    return open_store(f"{results_url.rstrip('/')}/{_FOLDER}")


def watched_ids(store: Store) -> list[str]:
    """Name the folders that were watched with an ingest store."""
    return store.folders("_runs")


def forget_files(results_store: Store) -> None:
    """Delete what all watched folders know of single files, which is derived: waiting ones wait anew.

    Raises:
        ResultsError: the store cannot be written.
    """
    for watch in results_store.folders(_FOLDER):
        for name in (_SIGHTINGS, _ANSWERS):
            results_store.delete(f"{_FOLDER}/{watch}/{name}")


@dataclass(frozen=True, slots=True)
class Watch:
    """One watched folder in the ingest store; `name` is a watch ID."""

    store: Store
    name: str

    def sightings(self) -> dict[str, Sighting]:
        """Read what is known of waiting files, by item ID; nothing if it cannot be understood."""
        content = self.store.read(self._sightings)
        try:
            document = json.loads(content or b"{}")
            return {item_id: _sighting(facts) for item_id, facts in document.items()}
        except (ValueError, TypeError, KeyError, AttributeError):
            return {}

    def keep(self, sightings: Mapping[str, Sighting]) -> None:
        """Write what is known of waiting files in the place of what was known before."""
        document = {item_id: asdict(sighting) for item_id, sighting in sightings.items()}
        self.store.replace(self._sightings, json.dumps(document, default=datetime.isoformat).encode())

    def answers(self) -> dict[str, PastAnswer]:
        """Read the newest answers, by item ID; none if they cannot be understood."""
        content = self.store.read(self._answers)
        try:
            return {answer.item_id: answer for answer in map(_answer, json.loads(content or b"[]"))}
        except (ValueError, TypeError, KeyError, AttributeError):
            return {}

    def keep_answers(self, answers: Iterable[PastAnswer]) -> None:
        """Write the newest of some answers, the last ones, in the place of those that were kept before."""
        newest = deque(answers, maxlen=MOST_ANSWERS)
        document = [asdict(answer) for answer in newest]
        self.store.replace(self._answers, json.dumps(document, default=datetime.isoformat).encode())

    def letters_due(self) -> dict[str, list[str]]:
        """Read for which items letters must be written, by the parts of `ingest` that hold their rows."""
        content = self.store.read(f"{self.name}/{_LETTERS}")
        try:
            return {part: list(map(str, items)) for part, items in json.loads(content or b"{}").items()}
        except (ValueError, TypeError, AttributeError):
            return {}

    def keep_letters_due(self, due: Mapping[str, Sequence[str]]) -> None:
        """Write for which items letters must be written, in the place of what was due before."""
        self.store.replace(f"{self.name}/{_LETTERS}", json.dumps(due).encode())

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

    @property
    def _sightings(self) -> str:
        return f"{self.name}/{_SIGHTINGS}"

    @property
    def _answers(self) -> str:
        return f"{self.name}/{_ANSWERS}"

    def _run(self, run_id: str) -> str:
        return f"{self.name}/runs/{run_id}.json"


def _answer(facts: dict[str, Any]) -> PastAnswer:
    at = facts.pop("verified_at")
    return PastAnswer(verified_at=None if at is None else datetime.fromisoformat(at), **facts)


def _sighting(facts: dict[str, str | int | None]) -> Sighting:
    retry_at = facts["retry_at"]
    return Sighting(
        version=str(facts["version"]),
        since=datetime.fromisoformat(str(facts["since"])),
        tries=int(facts["tries"] or 0),
        retry_at=None if retry_at is None else datetime.fromisoformat(str(retry_at)),
    )
