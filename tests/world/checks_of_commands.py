"""What must be true of passes, erasures, prunings, looks and bounds: by bytes, rows and the partner's own ledger."""

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bucket import read_parquet
from commands import WorkedLeg
from drop_folder import DropFolder
from kernel import Process
from operations import Operation
from partner import Served

if TYPE_CHECKING:
    from checks import Checks

Row = dict[str, Any]

SOUND_STORES = {"quiet", "kills", "network", "two", "clocks"}  # levels whose stores answer, and at once
LAST_SECONDS = 2.6  # before a kill, of which nothing need be kept: a flush a second, and a slow write
_TURN = timedelta(seconds=3)  # that the first call of a file which has begun may wait for those of others
_INEXACT = timedelta(seconds=1.5)  # how well a process knows a service's clock that is not its own
_PAIR_SECONDS = 900.0  # that a file waits for its sidecar, as the settings have it
_OK, _THROTTLED = 200, 429


def checks_of_commands(checks: "Checks") -> list[Callable[[], Iterator[str]]]:
    """Name the checks of what a world does besides verifying."""
    of = _ChecksOfCommands(checks)
    found: list[Callable[[], Iterator[str]]] = [of.commands, of.windows, of.calls_allowed, of.counts]
    if checks.night.operations.drop_folder is not None:
        deliveries = _ChecksOfDeliveries(checks, checks.night.operations.drop_folder)
        found += [deliveries.places, deliveries.accepted, deliveries.quarantine, deliveries.moves, deliveries.inbox]
        found += [deliveries.pairs, deliveries.shares]
    if "erase" in checks.night.operations.kinds:
        found += [of.erased, of.erased_once, of.erasures]
    if checks.is_pruned:
        found.append(of.pruned)
    return found


class _ChecksOfCommands:
    def __init__(self, checks: "Checks") -> None:
        self.checks, self.night = checks, checks.night
        self.operations = checks.night.operations

    def commands(self) -> Iterator[str]:
        """Looks never fail where the store is sound, and after the last fault no command does."""
        for each in self.operations.begun:
            for done in each.done:
                is_last = each.process.name.startswith("last-")
                is_look = each.kind == "status" and self.night.level in SOUND_STORES
                if (is_last and not done.is_whole) or (is_look and done.error is not None):
                    yield f"{each.process}: {done}"

    # --- Bounds

    def windows(self) -> Iterator[str]:
        """No file begins after the window has closed, by the clock of the machine; one in flight may wait its turn."""
        begun: dict[tuple[str, int], dict[int, datetime]] = defaultdict(dict)
        for row in self.checks.exchanges:
            if row["call"] == "uploads" and row["manifest_row"] is not None:
                rows = begun[row["run_id"], row["leg"]]
                rows[row["manifest_row"]] = min(rows.get(row["manifest_row"], row["started_at"]), row["started_at"])
        for row in self.checks.verdicts:
            if row["started_at"] is not None:
                begun[row["run_id"], row["leg"]][row["manifest_row"]] = row["started_at"] + _TURN
        for process, leg in self._legs():
            ahead = timedelta(seconds=self.night.partner.seconds_ahead - process.skew)
            late = _TURN + _INEXACT if ahead else _TURN
            for number, at in begun[leg.run_id, leg.number].items():
                if leg.bounds.closes_at is not None and at - ahead > leg.bounds.closes_at + late:
                    yield f"{leg.run_id} leg {leg.number} row {number} began after {leg.bounds.closes_at}, at {at}"

    def calls_allowed(self) -> Iterator[str]:
        """No leg makes more calls than it may, nor uses the reserve: whatever must be made again, and checks too."""
        for process, leg in self._legs():
            calls = self._calls_of(process, leg)
            most = leg.bounds.max_calls
            if most is not None and len(calls) > most:
                yield f"{leg.run_id} leg {leg.number} made {len(calls)} of {most} calls"
            of_quota, counted = leg.allowed.of_quota, sum(each.status != _THROTTLED for each in calls)
            # The partner counts no call that it throttles. A leg that it has not told the quota cannot keep a reserve.
            if of_quota is not None and counted > of_quota and self._is_told_quota(process, leg):
                yield f"{leg.run_id} leg {leg.number} made {counted} calls where the reserve leaves {of_quota}"

    def _is_told_quota(self, process: Process, leg: WorkedLeg) -> bool:
        readings = (each for each in self.night.partner.served if (each.call, each.status) == ("usage", _OK))
        # An answer that was lost on the way has told it nothing.
        return any(each.by is process and each.has_arrived and each.at <= leg.began_at for each in readings)

    def _legs(self) -> Iterator[tuple[Process, WorkedLeg]]:
        for process, commands in self.night.running:
            yield from ((process, leg) for leg in commands.legs)

    def _calls_of(self, process: Process, leg: WorkedLeg) -> list[Served]:
        until = leg.ended_at or math.inf
        served = (each for each in self.night.partner.served if each.by is process and each.is_keyed)
        return [each for each in served if leg.began_at <= each.at <= until]

    # --- What looks say

    def counts(self) -> Iterator[str]:
        """A run's status counts the rows that its parts have."""
        if not self.operations.kinds:
            return
        rows: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for row in self.checks.verdicts:
            rows[row["run_id"]][row["outcome"]] += 1
        for run_id, status in self.checks.statuses.items():
            if status.pruned_at is not None or status.open_legs:
                continue
            told = {group.outcome: status.rows(group.outcome) for group in status.groups}
            if told != rows[run_id]:
                yield f"{run_id}: status says {told}, its rows {dict(rows[run_id])}"

    # --- Erasures

    def erased(self) -> Iterator[str]:
        """In the end each proof that was to be erased is."""
        for proof in self.operations.wanted:
            if proof not in self.night.partner.erased:
                yield f"{proof} is not erased"

    def erased_once(self) -> Iterator[str]:
        """A proof is asked for again only if somebody was killed, or asked at the same time."""
        if self.night.level not in SOUND_STORES:
            return
        began = {each.process: each for each in self.operations.begun if each.kind == "erase"}
        asked: dict[str, list[Operation]] = defaultdict(list)
        for served in self._erasures():
            operation = began.get(served.by)
            if operation is not None and operation not in asked[served.proof]:
                asked[served.proof].append(operation)
        for proof, operations in asked.items():
            for before, after in pairwise(operations):
                ended_at = before.process.ended_at
                if not before.was_hindered and ended_at is not None and after.process.started_at > ended_at:
                    yield f"{proof} was asked for by {before.process} and again by {after.process}"

    def erasures(self) -> Iterator[str]:
        """The table says what the partner said, and lacks no answer but a kill's last ones."""
        rows = self.checks.table("erasures")
        kept = {row["request_id"] for row in rows}
        for row in rows:
            served = self.checks.served.get(row["request_id"] or "")
            if row["reason"] is None and (served is None or served.proof != row["proof_id"]):
                yield f"{row['operation_id']} names {row['request_id']} for {row['proof_id']}"
            elif row["reason"] is None and served is not None and served.outcome != row["outcome"]:
                yield f"{row['proof_id']} is {row['outcome']}, the partner said {served.outcome}"
        if self.night.level not in SOUND_STORES:
            return
        for served in self._erasures():
            killed_at = served.by.dead_at
            end = math.inf if killed_at is None else served.by.had_left(LAST_SECONDS, killed_at)
            if served.request_id not in kept and (served.arrived_at or 0.0) < end:
                yield f"the answer {served.request_id} about {served.proof} is in no row"

    def _erasures(self) -> Iterator[Served]:
        """Yield the erasures whose answers arrived whole."""
        for served in self.night.partner.served:
            if served.call == "erase" and served.status == _OK and served.has_arrived:
                yield served

    # --- Prunings

    def pruned(self) -> Iterator[str]:
        """An answer goes only if a newer one of the same item stays, by when the partner gave both."""
        newest: dict[str, float] = {}
        for row in self.checks.verdicts:
            newest[row["item_id"]] = max(newest.get(row["item_id"], 0.0), self._answered_at(row))
        for key, content in self.checks.bucket.deleted.items():
            rows = read_parquet(content).to_pylist() if key.startswith("results/verdicts/") else []
            for row in rows:
                if self._answered_at(row) > newest.get(row["item_id"], 0.0):
                    yield f"{key} had the newest answer of {row['relative_path']}, {row['outcome']}"

    def _answered_at(self, row: Row) -> float:
        served = self.checks.served.get(row["verify_request_id"] or "")
        return 0.0 if row["verdict"] is None or served is None else served.at


class _ChecksOfDeliveries:
    """All by the bytes that lie in the watched folder and at its two targets."""

    def __init__(self, checks: "Checks", drops: DropFolder) -> None:
        self.checks, self.drops = checks, drops
        self.said = defaultdict[str, set[str]](set)  # how the partner answered, by the digest of the audio
        for served in checks.night.partner.served:
            if served.call == "verify" and served.status == _OK:
                self.said[served.digest].add("accepted" if served.is_accepted else "refused")

    def places(self) -> Iterator[str]:
        """What was delivered lies in one place, and what its supplier took back in one at most."""
        found: dict[str, list[Path]] = defaultdict(list)
        for place in (self.drops.folder, self.drops.accepted, self.drops.quarantine):
            for path in self.drops.files_of(place):
                found[_digest(path)].append(path)
        for content in self.drops.contents:
            count = len(found[content.digest])
            if count > 1:
                yield f"{content.name} lies in {count} places: {', '.join(map(self._told, found[content.digest]))}"
            elif not count and not self.drops.was_withdrawn(content):
                yield f"{content.name}, delivered at {content.at:.3f}, is lost"

    def accepted(self) -> Iterator[str]:
        """What lies in `accepted` was accepted, for those very bytes."""
        for path in self._audio_in(self.drops.accepted):
            if "accepted" not in self.said[_digest(path)]:
                yield f"{self._told(path)} was never accepted"

    def quarantine(self) -> Iterator[str]:
        """What lies in quarantine was refused, for those very bytes."""
        for path in self._audio_in(self.drops.quarantine):
            if "refused" not in self.said[_digest(path)]:
                yield f"{self._told(path)} was never refused"

    def moves(self) -> Iterator[str]:
        """A row of `ingest` names each move."""
        if self.checks.bucket.lost:
            return
        rows = {(row["audio_moved_to"], row["audio_sha256"]) for row in self.checks.table("ingest")}
        for place in (self.drops.accepted, self.drops.quarantine):
            for path in self._audio_in(place):
                if (str(path), _digest(path)) not in rows:
                    yield f"no row names the move of {self._told(path)}"

    def inbox(self) -> Iterator[str]:
        """After the last passes no audio lies in the watched folder, and nothing hidden anywhere."""
        for path in self._audio_in(self.drops.folder):
            yield f"{self._told(path)} was left, {sorted(self.said[_digest(path)]) or 'and never asked about'}"
        for place in (self.drops.folder, self.drops.accepted, self.drops.quarantine):
            yield from (f"{self._told(path)} was left" for path in self.drops.hidden_in(place))

    def pairs(self) -> Iterator[str]:
        """No file whose sidecar may still come is sent alone."""
        pairs = {song.name for song in self.drops.songs if song.is_pair}
        for served in self.checks.night.partner.served:
            laid = [each.at for each in self.drops.contents if each.digest == served.digest and each.name in pairs]
            at = max((each for each in laid if each <= served.at), default=None)
            if served.call == "verify" and not served.sidecar and at is not None and served.at < at + _PAIR_SECONDS:
                yield f"audio {served.digest[:8]}, laid at {at:.3f}, was sent without its sidecar at {served.at:.3f}"

    def shares(self) -> Iterator[str]:
        """Nothing is written below the mount point of a share that is away."""
        yield from (f"{path} was written while its share was away" for path in self.drops.below)

    def _audio_in(self, place: Path) -> Iterator[Path]:
        return (path for path in self.drops.files_of(place) if path.suffix != ".sidecar")

    def _told(self, path: Path) -> str:
        return str(path.relative_to(self.drops.above))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
