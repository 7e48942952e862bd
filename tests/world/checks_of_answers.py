"""What a program says of answers, catalogs and runs, held against the reference model."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise

from checks_of_views import ViewChecks
from kernel import here
from model import DATE_SECONDS, Model, Run, Told, wall_time
from night import Night

from proofsweep.app import App
from proofsweep.domain.errors import NothingDue
from proofsweep.queries.status import describe_run
from proofsweep.sources.selection import Selection
from proofsweep.store.latest import Latest
from proofsweep.store.listings import newest_listings
from proofsweep.store.objects import open_store
from proofsweep.store.parts import Results

_ENVIRONMENT = "beta"
_NOWHERE = "of a row that is in no part and never will be"
_SHOWN = ("run_id", "leg", "verify_request_id", "outcome", "verdict", "audio_sha256", "accepted")
_LONGEST_FREEZE_SECONDS = 310.0
_CLOCKS_DIFFER = timedelta(days=1)  # an answer that is later than that was given by a wrong clock


class AnswerChecks:
    """Checks what is said of one world now; each problem is a sentence, which begins with the name of its check."""

    def __init__(self, night: Night) -> None:
        self.night, self.model = night, Model(night)
        self.results = Results(open_store(night.url))
        self._misled: dict[str, str] = {}  # by item, whose older answer is shown as its newest

    def problems(self) -> list[str]:
        found: list[str] = []
        if self.night.bucket.lost:
            return found  # a store that was replaced took some rows along
        for check in (self.latest, self.listings, self.plans, self.due, self.status, self.superseded):
            found += [f"{check.__name__}: {problem}" for problem in check()]
        return found or ViewChecks(self.night).problems()  # views follow what these say

    def latest(self) -> Iterator[str]:
        """The newest answer of a file is the one that the partner gave last."""
        newest = self.model.newest_answers()
        shown = Latest(self.results).answers(_ENVIRONMENT, newest, _SHOWN)
        for item, told in newest.items():
            row = shown.get(item)
            if self.model.is_void(told):
                if row is not None and row["verify_request_id"] == told.row["verify_request_id"]:
                    yield f"{item} has an answer, {_said(told)}, and its proof was erased since"
            elif row is None:
                yield f"{item} has no answer, and it was {_said(told)}"
            elif any(row[name] != told.row[name] for name in _SHOWN[2:]) and not self._is_as_new(row, told):
                self._misled[item] = self._whose(self._told_by(str(row["run_id"]), item), told)
                said = f"{row['outcome']}, {row['verdict']} in {row['verify_request_id']}"
                yield f"{item} is {said}, {self._misled[item]}; then it was {_said(told)}"

    def _is_as_new(self, row: dict[str, object], told: Told) -> bool:
        """Whether another answer was given in the same second: `Date` tells no less."""
        shown = self._told_by(str(row["run_id"]), told.item)
        return shown is not None and told.at - shown.at < DATE_SECONDS

    def _told_by(self, run_id: str, item: str) -> Told | None:
        return next((told for told in self.model.told if (told.run.run_id, told.item) == (run_id, item)), None)

    def _whose(self, shown: Told | None, newest: Told) -> str:
        """Say of which kind a leg is whose older answer is shown as the newest."""
        leg, other = None if shown is None else shown.leg, newest.leg
        if leg is None or other is None:
            return _NOWHERE
        kinds = (
            (newest.run.was_left_behind(other), "of a leg before a killed one that was left behind"),
            (leg.receipt is None, "of a killed leg that nobody has settled"),
            (leg.entry is None, "of a leg that has not ended in the log"),
            (leg.ended_by == "killed", "of a killed leg that was settled later"),
            (leg.entry is not None and leg.entry > (other.entry or 0), "of a leg that ended later"),
            (True, "of an earlier leg"),
        )
        return next(words for holds, words in kinds if holds)

    def listings(self) -> Iterator[str]:
        """What a catalog lists is what the newest plan of all of it listed that was not given up."""
        runs = self.results.log.runs()
        shown = {identity: run for (_, identity), run in newest_listings(runs.counted_first()).items()}
        for identity in sorted({*shown, *self.model.listings}):
            meant, said = self.model.listings.get(identity), shown.get(identity)
            run = None if said is None else self.model.runs[said.plan.run_id]
            is_as_new = meant is not None and run is not None and abs(meant.planned_at - run.planned_at) < DATE_SECONDS
            if _listing(meant) != _listing(run) and not is_as_new:
                yield f"{identity} is listed by {_named(run)}, and the newest is {_named(meant)}"

    def plans(self) -> Iterator[str]:
        """A run lists what its catalog had, and leaves out what has an answer for those very bytes.

        What is in doubt in a run of the catalog remains for the next leg of that one, and is left out too.
        """
        for run in self.model.runs.values():
            songs = self.model.items_at(run.plan["catalog"], run.planned_at)
            if songs is None:
                continue
            if {*run.listed} != songs:
                yield f"{_named(run)} lists {sorted(run.listed)}, and there were {sorted(songs)}"
            planned = {row["item_id"] for row in run.items}
            answered = {(told.item, told.row["audio_sha256"]) for told in self.model.told if told.at < run.planned_at}
            of_others = self._in_doubt_before(run)
            for item in sorted({*run.listed} - planned):
                if (item, self.model.bytes_at(item, run.planned_at)) not in answered | of_others:
                    yield f"{_named(run)} leaves out {item}, which had no answer"

    def _in_doubt_before(self, run: Run) -> set[tuple[str, str]]:
        """Return the items, with their bytes, that the last legs of earlier runs of a run's catalog left in doubt."""
        found: set[tuple[str, str]] = set()
        for other in self.model.runs.values():
            if other.identity != run.identity or other.planned_at >= run.planned_at:
                continue
            items = {row["manifest_row"]: row["item_id"] for row in other.items}
            in_doubt = (items[row] for leg in other.last_legs(run.planned_at) for row in leg.in_doubt)
            found |= {(item, self.model.bytes_at(item, other.planned_at)) for item in in_doubt}
        return found

    def due(self) -> Iterator[str]:
        """What is due has no answer for the bytes that lie there, or none that is young enough."""
        now = wall_time(here().now + self.night.partner.seconds_ahead)
        until = now + _CLOCKS_DIFFER
        bytes_of = {item: self.model.bytes_at(item, here().now) for item in self._items_of_folder()}
        for selection, since in ((Selection(since_last=True), None), *self._ages(now)):
            due = {item for item, digest in bytes_of.items() if self.model.is_due(item, digest, since, until)}
            said = self._due_rows(selection)
            for item in sorted((due - said) | (said - due - self._to_be_compared)):
                words = "leaves out" if item in due else "takes"
                yield f"{selection.text} {words} {item}, whose newest answer is {self._kind_of(item)}"

    @property
    def _to_be_compared(self) -> set[str]:
        """The files that came after the plan of the run which answered them: taken, and compared before a call."""
        newest = self.model.newest_answers().items()
        return {item for item, told in newest if self.model.was_laid_since(item, told.run.planned_at)}

    def _kind_of(self, item: str) -> str:
        if item not in self.model.newest_answers():
            return _NOWHERE
        return self._misled.get(item, "right")

    def _items_of_folder(self) -> set[str]:
        return self.model.items_at(str(self.night.music.folder), here().now) or set()

    def _ages(self, now: datetime) -> Iterator[tuple[Selection, datetime]]:
        """Draw an age that some answers have and some have not."""
        told = self.model.newest_answers().values()
        times = sorted({each.row["answered_at"] for each in told if each.row["answered_at"] < now})
        gaps = [(a, b) for a, b in pairwise([*times, now]) if b - a > timedelta(seconds=4)]
        if gaps:
            younger, older = here().stream("asks").choice(gaps)
            seconds = int((now - younger - (older - younger) / 2).total_seconds())
            yield Selection(max_age=f"{seconds}s"), now - timedelta(seconds=seconds)

    def _due_rows(self, selection: Selection) -> set[str]:
        app = App(self.night.settings)
        try:
            app.service.asked_clock()
            rows = app.chosen_rows(str(self.night.music.folder), selection).rows()
            return {self.night.music.item_of(row.named_audio) for row in rows}
        except NothingDue:
            return set()
        finally:
            app.close()

    def status(self) -> Iterator[str]:
        """The status of a run counts its rows, and says how it ended; nobody is at work now."""
        for run in self.model.runs.values():
            said, rows = describe_run(self.results, run.run_id), self.model.rows_of(run)
            if said.pruned_at is not None:
                continue
            counted = Counter({(each.outcome, each.verdict, each.reason): each.rows for each in said.groups})
            meant = Counter((told.row["outcome"], told.row["verdict"], told.row["reason"]) for told in rows)
            if said.active:
                yield f"{_named(run)} is active, and nobody works on it"
            elif counted != meant:
                yield f"{_named(run)} has {dict(counted)}, and its rows are {dict(meant)}"
            elif run.legs and said.state != self.model.state_of(run):
                yield f"{_named(run)} is {said.state}, and its legs ended with {self.model.state_of(run)}"

    def superseded(self) -> Iterator[str]:
        """A run is superseded only if each row that remains was answered since it was planned, or before it began."""
        for run in self.model.runs.values():
            leg = run.superseded
            if leg is None or leg.ended_at is None or run.run_id in self.model.given_up:
                continue
            own = {told.row["manifest_row"] for told in self.model.rows_of(run)}
            rest = [row["item_id"] for row in run.items if row["manifest_row"] not in own]
            others = [told for told in self.model.told if told.run is not run and told.at <= leg.ended_at]
            since = {told.item for told in others if told.is_answer and told.at >= _read_at(run)}
            if not (left := {*rest} - since) or (not own and self._is_overtaken(run, leg.ended_at)):
                continue
            kind = f"with {len(own)} rows of its own" if own else "without a row"
            yield f"{_named(run)} is superseded {kind}, and nobody answered {sorted(left)} since it was planned"

    def _is_overtaken(self, run: Run, before: float) -> bool:
        """Whether another run of its catalog was planned or worked on since this one was planned."""
        others = [each for each in self.model.runs.values() if each.identity == run.identity and each is not run]
        return any(_read_at(run) - 60.0 <= leg.began_at <= before for other in others for leg in other.legs)


def _read_at(run: Run) -> float:
    """Return when the catalog of a run was read: its planner may have been frozen since."""
    return run.planned_at + max(-_LONGEST_FREEZE_SECONDS, min(0.0, run.clock_ahead))


def _said(told: Told) -> str:
    return f"{told.row['outcome']}, {told.row['verdict']} in {told.request}"


def _listing(run: Run | None) -> set[tuple[str, str]] | None:
    """Return what a run has listed: its items, and the version of each."""
    return None if run is None else {(item, str(row["audio_version"])) for item, row in run.listed.items()}


def _named(run: Run | None) -> str:
    if run is None:
        return "no run"
    end = ", superseded" if run.superseded else ""
    clock = f", by a clock {run.clock_ahead:+.0f} s" if abs(run.clock_ahead) > 1.0 else ""
    return f"{run.run_id} (planned at {run.planned_at:.0f}{clock}{end})"
