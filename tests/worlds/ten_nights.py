"""Ten nights of a label, made from a seed: a results store, and what is true of it, worked out without any SQL."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

from .core import Results, Row, StoredRun, prune_old
from .ended_nights import ACCEPTED, FAILED, INELIGIBLE, REJECTED
from .ended_runs import answered, plan_of_run

ENVIRONMENTS = ("beta", "production")
CATALOG = "/c/catalog.csv"
ERASED: Row = {"outcome": "rejected", "verdict": "unregistered", "reason": "unregistered", "action": "reject"}
OUTCOMES = ("accepted", "rejected", "failed", "ineligible")
_ANSWERS = OUTCOMES[:2]

Change = tuple[str, str, str | None]
"""An item, its change and the cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRun:
    """A run, and what is true of it."""

    run_id: str
    environment: str
    identity: str
    kind: str
    rows: dict[str, Row]
    listed: set[str]
    skipped: int
    is_whole: bool

    @property
    def counts(self) -> dict[str, int]:
        """The rows by outcome, also of a run that has lost them since."""
        found = Counter(row["outcome"] for row in self.rows.values())
        return {outcome: found[outcome] for outcome in OUTCOMES}

    @property
    def answers(self) -> dict[str, Row]:
        return {item: row for item, row in self.rows.items() if row["outcome"] in _ANSWERS}


@dataclass(slots=True)
class Label:
    """The catalog of one environment as it lies on disk, with how the service judges each file now."""

    files: dict[str, Row] = field(default_factory=dict)
    deleted: dict[str, Row] = field(default_factory=dict)
    made: int = 0

    def begin_day(self, lots: Random) -> None:
        """Deliver, change, move, delete and deliver again some files."""
        for _ in range(lots.randint(1, 4) if self.files else 12):
            audio = self._new_audio()
            self.files[f"item {self.made}"] = lots.choice([ACCEPTED, ACCEPTED, REJECTED, INELIGIBLE]) | audio
        for item in lots.sample(sorted(self.files), 5):
            same = {"audio_sha256": self.files[item]["audio_sha256"]}
            match lots.choice(["change", "judge", "judge", "move", "delete", "fail", "erase"]):
                case "change":
                    self.files[item] = lots.choice([ACCEPTED, REJECTED]) | self._new_audio()
                case "judge":
                    self.files[item] = lots.choice([ACCEPTED, REJECTED, INELIGIBLE]) | same
                case "fail":
                    self.files[item] = FAILED | same
                case "erase" if self.files[item]["outcome"] == "accepted":
                    self.files[item] = ERASED | same
                case "move":
                    self.files[f"{item}, moved"] = self.files.pop(item)
                case _:
                    self.deleted[item] = self.files.pop(item)
        if self.deleted and lots.random() < 0.5:  # every other day
            again = lots.choice(sorted(self.deleted))
            self.files[again] = self.deleted.pop(again)

    def _new_audio(self) -> Row:
        self.made += 1
        return {"audio_sha256": f"audio {self.made}"}


def _began(day: int, hour: int, environment: str = "beta") -> datetime:
    """Return when a run begins; those of production three hours later."""
    hours = hour + 3 * ENVIRONMENTS.index(environment)
    return datetime(2026, 10, 10, tzinfo=UTC) + timedelta(days=day, hours=hours)


def _cells(item: str, row: Row) -> Row:
    return {"relative_path": item, "accepted": row["outcome"] == "accepted", "tags": '{"supplier": "North"}'} | row


def _work_on(run: StoredRun, leg: int, rows: Sequence[Row], *, is_killed: bool) -> None:
    """Finish some rows; a killed leg has published them, and has no receipt."""
    rows = [row | {"leg": leg} for row in rows]
    run.take(leg, is_killed=is_killed)
    if is_killed:
        if rows:
            run.write_part("verdicts", rows, leg=leg)
        return
    facts: Row = {"environment": run.plan.environment, "finished_at": rows[-1]["finished_at"] if rows else None}
    run.end(leg, "cancelled" if leg == 1 else "complete", [(row, []) for row in rows], **facts)
    run.note()


class TenNights:
    """A results store that grows night by night, and the truth about it."""

    def __init__(self, results: Results, seed: int, nights: int = 10) -> None:
        self.runs: list[KnownRun] = []
        self.pruned: set[str] = set()  # runs that have lost parts
        self._results = results
        self._nights = nights
        self._lots = Random(seed)  # noqa: S311 - no secret
        self._labels = {environment: Label() for environment in ENVIRONMENTS}

    def nights(self) -> Iterator[int]:
        """Leave one night after the other behind; yield their numbers."""
        for day in range(self._nights):
            for environment, label in self._labels.items():
                label.begin_day(self._lots)
                self._leave_night(day, environment, label)
            if day == self._nights - 4:
                self.pruned.update(prune_old(self._results, 3, _began(day, 20)))
            yield day

    def _leave_night(self, day: int, environment: str, label: Label) -> None:
        lots, listed = self._lots, sorted(label.files)
        rows, skipped, is_killed = dict(label.files), 0, False
        match lots.choice(["whole", "whole", "stopped", "killed", "due"]) if day else "whole":
            case "stopped":
                rows = {item: rows[item] for item in listed[: lots.randint(1, len(listed) - 1)]}
            case "killed":
                rows = {item: rows[item] for item in listed[: lots.randint(1, len(listed) - 1)]}
                is_killed = True
            case "due":
                answered = {item for item, row in self.standing(environment).items() if row["outcome"] in _ANSWERS}
                due = {item: row for item, row in rows.items() if item not in answered or lots.random() < 0.2}
                rows, skipped = due or rows, len(rows) - len(due) if due else 0
        planned = listed if not skipped else sorted(rows)
        nightly = {"environment": environment, "catalog": CATALOG, "catalog_kind": "manifest"}
        self._leave(_began(day, 0, environment), nightly, rows, planned, listed if skipped else (), is_killed=is_killed)
        if lots.random() < 0.5:  # every other day a pass over a watched folder of a file or two
            arrived = {f"arrived {day} {number}": ACCEPTED for number in range(lots.randint(1, 2))}
            arrived = {item: row | {"audio_sha256": f"{environment} {item}"} for item, row in arrived.items()}
            watched = {"environment": environment, "catalog": "/in", "catalog_kind": "ingest"}
            self._leave(_began(day, 1, environment), watched, arrived, sorted(arrived))
        if lots.random() < 0.3:  # sometimes two files are verified again
            again = {item: label.files[item] for item in lots.sample(listed, 2)}
            self._leave(_began(day, 2, environment), nightly, again, sorted(again), listed)

    def _leave(
        self,
        began: datetime,
        kind: Row,
        rows: Mapping[str, Row],
        planned: Sequence[str],
        listed: Sequence[str] = (),
        *,
        is_killed: bool = False,
    ) -> None:
        """Plan a run as the program does, and end its legs: a run of some rows has two, and the last may be killed."""
        facts = kind | {"skipped": max(0, len(listed) - len(planned)), "tag_names": ["supplier"]}
        plan = plan_of_run(f"{began:%Y%m%dT%H%M%SZ}_000aaaaaa", len(planned), **facts)
        order = [*rows, *(item for item in planned if item not in rows)]
        run = StoredRun(self._results, plan)
        if listed:
            run.list_catalog(listed)
        run.write_items(order)
        run.write_plan()
        run.note()
        done = [answered(plan, number, item) | _cells(item, row) for number, (item, row) in enumerate(rows.items())]
        middle = self._lots.randint(0, len(done))
        for leg, part in enumerate((done[:middle], done[middle:]), 1):
            _work_on(run, leg, part, is_killed=is_killed and leg == 2)
        self.runs.append(
            KnownRun(
                run_id=plan.run_id,
                environment=plan.environment,
                identity=plan.catalog,
                kind=plan.catalog_kind,
                rows=dict(rows),
                listed=set(listed or planned),
                skipped=plan.skipped,
                is_whole=plan.catalog_kind == "manifest" and len(rows) == plan.items and not plan.skipped,
            )
        )

    def standing(self, environment: str) -> dict[str, Row]:
        """Return of each item the row by which it stands, over all runs so far."""
        found: dict[str, Row] = {}
        answers: dict[str, Row] = {}
        for run in self._of(environment):
            for item, row in run.rows.items():
                if row["outcome"] in _ANSWERS:
                    found[item] = answers[item] = row
                elif item not in answers or row["outcome"] == "ineligible" or answers[item]["outcome"] == "accepted":
                    found[item] = row
                else:  # it was rejected: that stays, whatever came between
                    found[item] = answers[item]
        return found

    def answers(self, environment: str) -> dict[str, Row]:
        """Return of each item its newest answer."""
        return {item: row for run in self._of(environment) for item, row in run.answers.items()}

    def outcomes(self, view: str, environment: str) -> dict[str, str]:
        """Return of each item the outcome that a view shows: `latest_answer` or `rejects`."""
        if view == "latest_answer":
            return {item: str(row["outcome"]) for item, row in self.answers(environment).items()}
        states = self.states(environment)
        return {item: state for item, state in states.items() if state in {"rejected", "failed", "ineligible"}}

    def states(self, environment: str) -> dict[str, str]:
        """Return the state of each item that is listed now, or was tried: what `catalog` shows."""
        listed, standing = self._nightly(environment)[-1].listed, self.standing(environment)
        tried_by = {item: run.kind for run in self._of(environment) for item in run.rows}
        states = {item: str(standing[item]["outcome"]) if item in standing else "not_sent" for item in listed}
        unlisted = {item for item in standing if item not in listed and tried_by[item] != "ingest"}
        answers = self.answers(environment)
        there = {row["audio_sha256"] for item, row in answers.items() if item not in unlisted}
        for item, row in standing.items():
            if item in unlisted:
                states[item] = "moved" if answers.get(item, {"audio_sha256": ""})["audio_sha256"] in there else "gone"
            elif item not in listed:
                states[item] = str(row["outcome"])
        return states

    def coverage(self, environment: str) -> tuple[int, ...]:
        """Return the files of the catalog, the answered, the covered, and those of each state."""
        listed = self._nightly(environment)[-1].listed
        answers, states = self.answers(environment), self.states(environment)
        counts = Counter(states[item] for item in listed)
        covered = sum(item in answers or states[item] == "ineligible" for item in listed)
        gone = Counter(states.values())["gone"]
        known = ("accepted", "rejected", "failed", "ineligible", "not_sent")
        return len(listed), covered - counts["ineligible"], covered, *(counts[state] for state in known), gone

    def _nightly(self, environment: str) -> list[KnownRun]:
        return [run for run in self._of(environment) if (run.identity, run.kind) == (CATALOG, "manifest")]

    def changes(self, run: KnownRun) -> set[Change] | None:
        """Return what a run found otherwise than the runs before; None if some of these were pruned."""
        earlier = [each for each in self._of(run.environment) if each.run_id < run.run_id]
        whole = [each.run_id for each in earlier if each.is_whole and each.identity == run.identity]
        window = [each for each in earlier if not whole or each.run_id >= whole[-1]]
        if self.pruned & {run.run_id, *(each.run_id for each in window)}:
            return None
        lost = {item for each in earlier if each.run_id in self.pruned for item in each.rows}
        if any(item in lost and _is_open(item, window) for item in run.rows):
            return None
        lost = {item: each.run_id for each in window for item in self._lost_by(each)}
        before = {item: self._before(item, earlier, window, lost) for item in run.rows}
        missing = self._lost_by(run)
        if run.is_whole and whole:
            missing = {item for each in window if each.identity == run.identity for item in each.rows} - set(run.rows)
        gone = {item: was for item in missing if (was := self._before(item, earlier, window, lost)) is not None}
        by_audio: dict[str, list[str]] = {}
        for item, row in sorted(gone.items(), reverse=True):
            by_audio.setdefault(str((row or {}).get("audio_sha256")), []).append(item)
        found: set[Change] = set()
        for item, now in sorted(run.rows.items()):
            was, is_moved = before[item], False
            if was is None and (former := by_audio.get(str(now["audio_sha256"]))):
                was, is_moved = gone.pop(former.pop()), True
            change = _change(was, now, is_moved=is_moved)
            if change is not None:
                found.add((item, *change))
        return found | {(item, "gone", "gone") for item in gone}

    def _lost_by(self, run: KnownRun) -> set[str]:
        """Return what a run that left rows out found to be listed no more."""
        before = [each for each in self._nightly(run.environment) if each.run_id < run.run_id]
        return before[-1].listed - run.listed if run.skipped and before else set()

    @staticmethod
    def _before(item: str, earlier: list[KnownRun], window: list[KnownRun], lost: Mapping[str, str]) -> Row | None:
        """Return how an item stood: a row without an answer stands for it only if there is no other.

        What was found to be lost stands by its later rows alone.
        """
        rows = [run.rows[item] for run in window if item in run.rows and run.run_id >= lost.get(item, "")]
        if _is_open(item, window) and any(item in run.rows for run in window):
            rows = [run.rows[item] for run in earlier if item in run.rows and run.run_id >= lost.get(item, "")]
        answered = [row for row in rows if row["outcome"] != "failed"]
        return (answered or rows or [None])[-1]

    def _of(self, environment: str) -> list[KnownRun]:
        return [run for run in sorted(self.runs, key=lambda run: run.run_id) if run.environment == environment]


def _is_open(item: str, window: Sequence[KnownRun]) -> bool:
    """Whether an item has no other row than failed ones in some runs, so that older ones count."""
    return all(run.rows[item]["outcome"] == "failed" for run in window if item in run.rows)


def _change(  # noqa: PLR0911 - a table
    was: Row | None, now: Row, *, is_moved: bool
) -> tuple[str, str | None] | None:
    if was is None:
        return "new", "first_seen"
    is_other = any(was.get(name) != now.get(name) for name in ("outcome", "verdict", "reason"))
    has_other_audio = was["audio_sha256"] != now["audio_sha256"]
    if not (is_other or has_other_audio or is_moved):
        return None
    sides = (was["outcome"] == "accepted", now["outcome"] == "accepted")
    change = {(True, False): "broken", (False, True): "fixed"}.get(sides, "changed")
    if now["outcome"] == "failed":
        return change, "no_answer_now"
    if has_other_audio:
        return change, "audio_changed"
    if is_other and "ineligible" in (was["outcome"], now["outcome"]):
        return change, "file_or_catalog_changed"
    if was["outcome"] == "failed":
        return change, "no_answer_before"
    return change, "moved" if is_moved else None
