"""What the views say in SQL, held against the reference model: the bucket's objects in a folder, asked through DuckDB.

DuckDB has threads of its own, which know nothing of the world and touch nothing of it. One view takes a third of a
second, so that few worlds are asked: of small ones one view.
"""

from collections.abc import Iterator
from pathlib import Path

from kernel import here
from model import Model, Told
from night import Night

from proofsweep.queries.connection import opened
from proofsweep.store.objects import open_store
from proofsweep.store.parts import Results

_VIEWS = ("latest_answer", "catalog", "rejects", "coverage")
_SHARE_OF_SMALL, _SHARE_OF_LARGE = 1 / 25, 1 / 4
_SAID = ("outcome", "verdict", "verify_request_id", "audio_sha256")
_ENDS = ("accepted", "rejected", "failed", "ineligible", "not_sent", "gone", "moved")
_COUNTS = (*_ENDS, "files", "covered", "need_attention")


class ViewChecks:
    """Asks some views of one world now; each problem is a sentence, which begins with the name of its check."""

    def __init__(self, night: Night) -> None:
        self.night, self.model = night, Model(night)
        self.random = here().stream("views")

    def problems(self) -> list[str]:
        share = _SHARE_OF_SMALL if self.night.is_small else _SHARE_OF_LARGE
        if self.random.random() >= share or self.night.bucket.lost or not self.model.runs:
            return []
        views = [self.random.choice(_VIEWS)] if self.night.is_small else _VIEWS
        folder = self.night.folder / "views"
        for key, content in self.night.bucket.objects.items():
            _write(folder / key, content)
        results = Results(open_store(str(folder / "results")))
        return [f"views: {view} {problem}" for view in views for problem in self._problems_of(view, results)]

    def _problems_of(self, view: str, results: Results) -> Iterator[str]:
        meant, columns = self._meant(view)
        with opened(results, asked=f"FROM {view}") as connection:
            rows = connection.execute(f"SELECT {columns} FROM {view}").fetchall()  # noqa: S608 - our own names
        said = {row[0]: _plain(row[1:]) for row in rows}
        if len(rows) > len(said):
            yield "has an item twice"
        for key in sorted({*meant, *said}):
            if meant.get(key) != said.get(key) and not (
                view == "latest_answer" and self._is_as_new(key, said.get(key))
            ):
                yield f"says of {key} {said.get(key)}, and it is {meant.get(key)}"

    def _is_as_new(self, item: str, said: tuple[object, ...] | None) -> bool:
        newest = self.model.newest_answers().get(item)
        if newest is None or said is None:
            return False
        return said[: len(_SAID)] in map(_said, self.model.as_new_as(newest))

    def _meant(self, view: str) -> tuple[dict[str, tuple[object, ...]], str]:
        """Return what a view must say of each of its rows, and the columns that say it; the first one names the row."""
        catalog = self.model.catalog
        if view == "latest_answer":
            newest = self.model.newest_answers()
            meant = {item: (*_said(told), catalog[item].state) for item, told in newest.items()}
            return meant, "item_id, outcome, verdict, verify_request_id, audio_sha256, state"
        if view == "catalog":
            return {
                item: (each.state, each.is_current, each.is_covered, each.identities if each.is_listed else ())
                for item, each in catalog.items()
            }, "item_id, state, is_current, is_covered, CASE WHEN listed_run_id IS NOT NULL THEN identities ELSE [] END"
        if view == "rejects":
            return {item: (catalog[item].state,) for item in self.model.rejects()}, "item_id, outcome"
        counts = self.model.coverage().items()
        return {identity: tuple(each[name] for name in _COUNTS) for identity, each in counts}, ", ".join(
            ["(SELECT identity FROM store.plans WHERE run_id = newest_run_id)", *_COUNTS]
        )


def _said(told: Told) -> tuple[object, ...]:
    return tuple(told.row[name] for name in _SAID)


def _plain(cells: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(tuple(sorted(cell)) if isinstance(cell, list) else cell for cell in cells)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
