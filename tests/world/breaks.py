"""Deliberate breaks of the core, each with a world that finds it: so it is known what the worlds see.

A break replaces one text of one module before it is executed. A text that is not there exactly once is an error, so the
list follows the code. Where worlds change, other seeds find a break: `tests/world/find_breaks.py` looks for them.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    name: str  # what it breaks
    module: str
    old: str
    new: str
    level: str
    seed: int  # the first world of the level that finds it
    check: str  # that finds it there


class BrokenLoader(SourceFileLoader):
    def __init__(self, broken: Break, path: str) -> None:
        super().__init__(broken.module, path)
        self._broken = broken

    def get_code(self, fullname: str) -> CodeType:
        source, broken = self.get_source(fullname) or "", self._broken
        if source.count(broken.old) != 1:
            raise SystemExit(f"{broken.name}: its text stands {source.count(broken.old)} times in {broken.module}")
        return compile(source.replace(broken.old, broken.new), self.path, "exec")


@dataclass(slots=True)
class BreakingFinder:
    """Finds the one module that is broken, before all other finders."""

    broken: Break
    has_broken: bool = False

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        if name != self.broken.module:
            return None
        spec = PathFinder.find_spec(name, path)
        assert spec is not None
        assert spec.origin is not None
        spec.loader, self.has_broken = BrokenLoader(self.broken, spec.origin), True
        return spec

    def require_broken(self) -> None:
        if not self.has_broken:
            raise SystemExit(f"{self.broken.name}: no world has loaded {self.broken.module}")


def apply(broken: Break) -> BreakingFinder:
    """Let the core be loaded with a break."""
    finder = BreakingFinder(broken)
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]  # it has all that the import asks for
    return finder


BREAKS: Sequence[Break] = (
    Break(
        name="a create does not read back",
        module="proofsweep.store.bucket_store",
        old=("            stored = self.read(name)\n            if stored == content:\n                return\n"),
        new=(
            "            stored = None if failure is None else self.read(name)\n"
            "            if failure is None or stored == content:\n"
            "                return\n"
        ),
        level="gateway",
        seed=1,
        check="last_night",
    ),
    Break(
        name="a taken name counts as written",
        module="proofsweep.store.bucket_store",
        old="                if kind not in {FailureKind.TAKEN, FailureKind.AWAY}:",
        new=(
            "                if kind is FailureKind.TAKEN:\n"
            "                    return\n"
            "                if kind is not FailureKind.AWAY:"
        ),
        level="two",
        seed=1,
        check="last_night",
    ),
    Break(
        name="a process that is alive counts as gone",
        module="proofsweep.store.holder",
        old="            os.kill(self.pid, 0)\n",
        new="            raise ProcessLookupError\n",
        level="two",
        seed=1,
        check="requests_kept",
    ),
    Break(
        name="a flush drops its last row",
        module="proofsweep.store.journal",
        old="pa.Table.from_pylist(rows, schema=SCHEMAS[table])",
        new="pa.Table.from_pylist(rows[:-1], schema=SCHEMAS[table])",
        level="quiet",
        seed=1,
        check="last_night",
    ),
    Break(
        name="what a flush could not write is lost",
        module="proofsweep.store.journal",
        old=(
            "            self.results.store.create(name, sink.getvalue().to_pybytes())\n"
            "            self._written[table][number] = Extent(rows.num_rows, rows.nbytes)\n"
            "            del self._taken[0]"
        ),
        new=(
            "            del self._taken[0]\n"
            "            self.results.store.create(name, sink.getvalue().to_pybytes())\n"
            "            self._written[table][number] = Extent(rows.num_rows, rows.nbytes)"
        ),
        level="store",
        seed=41,
        check="requests_kept",
    ),
    Break(
        name="rows of a part count as not finished",
        module="proofsweep.store.journal",
        old='        self._add(results.tables(parts, ["manifest_row"]))',
        new="        list(parts)",
        level="kills",
        seed=9,
        check="legs",
    ),
    Break(
        name="the last batch is not worked on",
        module="proofsweep.store.journal",
        old="        for batch in batches:\n            # An",
        new="        for batch in batches[:-1]:\n            # An",
        level="quiet",
        seed=1,
        check="last_night",
    ),
    Break(
        name="a leg works on the rows of other partitions",
        module="proofsweep.store.journal",
        old="            rows = range(first, end)",
        new="            rows = batch",
        level="two",
        seed=1,
        check="legs",
    ),
    Break(
        name="a leg forgets its last exchange",
        module="proofsweep.store.journal",
        old='            self._waiting["exchanges"] += exchanges',
        new='            self._waiting["exchanges"] += exchanges[:-1]',
        level="quiet",
        seed=2,
        check="requests_kept",
    ),
    Break(
        name="an open leg is not looked at",
        module="proofsweep.store.legs",
        old="            if (leg.leg - 1) % step == partition:",
        new="            if False:",
        level="two",
        seed=178,
        check="last_night",
    ),
    Break(
        name="an entry of the log forgets the one before",
        module="proofsweep.store.log",
        old='"previous": previous}',
        new='"previous": ""}',
        level="kills",
        seed=1,
        check="audit",
    ),
    Break(
        name="a listing that lags hides the parts of an ended leg",
        module="proofsweep.store.parts",
        old="                parts[part.name] = part",
        new="                del part",
        level="lag",
        seed=1,
        check="last_night",
    ),
    Break(
        name="the digest of a part is of other bytes",
        module="proofsweep.store.parts",
        old="return Part(name=name, rows=whole.num_rows, sha256=sha256_hex(written))",
        new="return Part(name=name, rows=whole.num_rows, sha256=sha256_hex(written[1:]))",
        level="quiet",
        seed=1,
        check="last_night",
    ),
    Break(
        name="a part counts a row too many",
        module="proofsweep.store.parts",
        old="return Part(name=name, rows=whole.num_rows, sha256=sha256_hex(written))",
        new="return Part(name=name, rows=whole.num_rows + 1, sha256=sha256_hex(written))",
        level="quiet",
        seed=1,
        check="last_night",
    ),
    Break(
        name="a killed leg is not settled",
        module="proofsweep.verify.repair",
        old="        if was_dead:",
        new="        if False:",
        level="kills",
        seed=9,
        check="last_night",
    ),
    Break(
        name="what is finished is not read",
        module="proofsweep.verify.attempt",
        old="            leg.completed.read()",
        new="            pass",
        level="kills",
        seed=9,
        check="legs",
    ),
    Break(
        name="the key stands in the lease",
        module="proofsweep.verify.attempt",
        old='"key_fingerprint": service.key_fingerprint,',
        new='"key_fingerprint": service.key.current.get_secret_value(),',
        level="quiet",
        seed=1,
        check="secrets",
    ),
    Break(
        name="a first failure is believed",
        module="proofsweep.verify.attribution",
        old=("            if question is None:\n                self._write(done, row)"),
        new=("            if True:\n                self._write(done, row)"),
        level="network",
        seed=5,
        check="outcomes",
    ),
    Break(
        name="a finished row is not noted",
        module="proofsweep.verify.audit_trail",
        old='        self.completed.add(int(str(row["manifest_row"])))\n',
        new="",
        level="quiet",
        seed=1,
        check="last_night",
    ),
    Break(
        name="an exchange is not noted",
        module="proofsweep.verify.audit_trail",
        old="        self.journal.add(None, [row])\n",
        new=("        if exchange.is_success:\n            self.journal.add(None, [row])\n"),
        level="network",
        seed=2,
        check="requests_kept",
    ),
    Break(
        name="files in flight are owed nothing",
        module="proofsweep.verify.budget",
        old="needed = calls + sum(map(len, self._owed.values()))",
        new="needed = calls",
        level="kills",
        seed=281,
        check="calls_allowed",
    ),
    Break(
        name="a bound is not counted",
        module="proofsweep.verify.budget",
        old="if self.bounds.max_calls is not None and self.spent + needed > self.bounds.max_calls:",
        new="if self.bounds.max_calls is not None and 3 > self.bounds.max_calls:",
        level="kills",
        seed=281,
        check="calls_allowed",
    ),
    Break(
        name="a window never closes",
        module="proofsweep.verify.budget",
        old="if closes_at is not None and self.clock() >= closes_at:",
        new="if closes_at is not None and self.clock() < closes_at and False:",
        level="network",
        seed=470,
        check="windows",
    ),
    Break(
        name="a receipt is written before the last parts",
        module="proofsweep.verify.commit",
        old=("    parts.close()  # (1)\n    row, beside = count_leg(parts)"),
        new="    row, beside = count_leg(parts)",
        level="quiet",
        seed=1,
        check="last_night",
    ),
    Break(
        name="a leg does not end in the log",
        module="proofsweep.verify.commit",
        old="    results.log.append(EntryKind.ENDED, run.run_id, decide)",
        new="    del decide",
        level="quiet",
        seed=1,
        check="last_night",
    ),
    Break(
        name="a receipt names another plan",
        module="proofsweep.verify.commit",
        old="results.plan_digest(run.run_id)",
        new="results.plan_digest(run.run_id)[::-1]",
        level="quiet",
        seed=1,
        check="audit",
    ),
    Break(
        name="a receipt names the parts of one table",
        module="proofsweep.verify.commit",
        old="[asdict(part) for parts_of_table in parts.parts.values() for part in parts_of_table]",
        new="[asdict(part) for part in parts.parts[run.table]]",
        level="quiet",
        seed=1,
        check="audit",
    ),
    Break(
        name="a mark is off by one",
        module="proofsweep.verify.commit",
        old="            journal[segment.writer] = segment.number\n",
        new="            journal[segment.writer] = segment.number + 1\n",
        level="quiet",
        seed=1,
        check="last_night",
    ),
    Break(
        name="a leg has no row in `runs`",
        module="proofsweep.verify.commit",
        old='            results.create_part(name, "runs", [with_instants("runs", cells)])',
        new="            del name",
        level="quiet",
        seed=1,
        check="legs",
    ),
    Break(
        name="a closing part leaves the journal out",
        module="proofsweep.verify.commit",
        old="is_chosen = through is None or segment.number",
        new="is_chosen = through is not None and segment.number",
        level="quiet",
        seed=1,
        check="last_night",
    ),
    Break(
        name="a copy is answered without a look at its bytes",
        module="proofsweep.verify.duplicates",
        old="return original if audio.read_through() == answered.sha256 else None",
        new="return original",
        level="quiet",
        seed=2,
        check="tasks",
    ),
    Break(
        name="files that are back when their folder is looked at are missing",
        module="proofsweep.verify.attribution",
        old="            if question.what is InQuestion.SOURCE and self._has_come_back(suspect.done):\n",
        new="            if False:\n",
        level="mounts",
        seed=9070,
        check="outcomes",
    ),
    Break(
        name="a pair whose folder was away for a moment is not tried again",
        module="proofsweep.verify.attribution",
        old="        self._came_back.add(item.manifest_row)\n",
        new="        return False\n",
        level="mounts",
        seed=9070,
        check="outcomes",
    ),
    Break(
        name="a folder that goes while it is listed is planned",
        module="proofsweep.sources.folder",
        old="            self._refuse_if_gone()\n",
        new="",
        level="mounts",
        seed=243,
        check="plans",
    ),
    Break(
        name="an outage counts against the file",
        module="proofsweep.verify.fault",
        old=(
            "            case Failed(reason=reason) if not about(reason).may_be_outage or proof_id_of(done.item.audio):\n"
            "                return Question(InQuestion.SERVICE, mode)\n"
        ),
        new="",
        level="network",
        seed=5,
        check="outcomes",
    ),
    Break(
        name="the sidecar is not sent",
        module="proofsweep.verify.item",
        old="outcome_of(work.partner.verify(slot, work.sidecar))",
        new="outcome_of(work.partner.verify(slot, None))",
        level="quiet",
        seed=1,
        check="last_night",
    ),
    Break(
        name="the slot is used twice",
        module="proofsweep.verify.item",
        old=("                        work.partner.fill_slot(slot, audio.chunks(), audio.facts.size_bytes)  # (2)\n"),
        new=(
            "                        work.partner.fill_slot(slot, audio.chunks(), audio.facts.size_bytes)\n"
            "                        work.partner.fill_slot(slot, audio.chunks(), audio.facts.size_bytes)\n"
        ),
        level="quiet",
        seed=1,
        check="slots",
    ),
    Break(
        name="the digest of a sidecar is not kept",
        module="proofsweep.verify.item",
        old="sidecar_sha256=None if audio.sha256 is None else self._sidecar_sha256,",
        new="sidecar_sha256=None,",
        level="quiet",
        seed=1,
        check="answers",
    ),
    Break(
        name="the first file is left out of the plan",
        module="proofsweep.verify.plan",
        old=("            survey.add(item)\n            items.add(item)"),
        new=("            survey.add(item)\n            if survey.items > 1:\n                items.add(item)"),
        level="quiet",
        seed=1,
        check="last_night",
    ),
    Break(
        name="each file is worked on twice",
        module="proofsweep.verify.worker",
        old="begun.append(leg.workers.submit(work_item, leg, known))",
        new="begun.extend(leg.workers.submit(work_item, leg, known) for _ in range(2))",
        level="quiet",
        seed=1,
        check="last_night",
    ),
    Break(
        name="the circuit stays open",
        module="proofsweep.pacing.circuit_breaker",
        old=("        self.is_open = self.is_outage = False\n        self._failing.clear()"),
        new="        self._failing.clear()",
        level="network",
        seed=5,
        check="ends",
    ),
    Break(
        name="a sidecar is sent as it is",
        module="proofsweep.client.client",
        old="base64.b64encode(sidecar).decode()",
        new="sidecar.decode()",
        level="quiet",
        seed=1,
        check="last_night",
    ),
    Break(
        name="a pause is forgotten",
        module="proofsweep.pacing.pacer",
        old="        self.opens_at = max(self.opens_at, now + pause_seconds)",
        new="        self.opens_at = now",
        level="network",
        seed=10,
        check="pauses",
    ),
    Break(
        name="a pause is told to no other process",
        module="proofsweep.verify.rate_leases",
        old="            self.write_pause()\n            self.heed_pause()",
        new="            self.heed_pause()",
        level="two",
        seed=21,
        check="pauses",
    ),
    Break(
        name="an exchange forgets its request ID",
        module="proofsweep.client.reply",
        old="            request_id=headers.request_id,",
        new="            request_id=None,",
        level="quiet",
        seed=1,
        check="answers",
    ),
    Break(
        name="a 429 is given up",
        module="proofsweep.client.retry",
        old=("    if exchange.call not in _OWN_LANES:\n        return Step.PAUSE_ALL, wait"),
        new=("    if exchange.call not in _OWN_LANES:\n        return GIVE_UP"),
        level="quiet",
        seed=13,
        check="last_night",
    ),
    Break(
        name="Retry-After is not read",
        module="proofsweep.client.retry",
        old="    wait = exchange.headers.retry_after_seconds or backoff(retry, exchange.attempt, jitter)",
        new="    wait = backoff(retry, exchange.attempt, jitter)",
        level="quiet",
        seed=13,
        check="pauses",
    ),
    Break(
        name="a 429 holds no other call back",
        module="proofsweep.client.retry",
        old=("    if exchange.call not in _OWN_LANES:\n        return Step.PAUSE_ALL, wait"),
        new=("    if exchange.call not in _OWN_LANES:\n        return Step.RETRY, wait"),
        level="network",
        seed=10,
        check="pauses",
    ),
    Break(
        name="an attempt forgets its exchange",
        module="proofsweep.client.session",
        old="        self.record(reply.exchange)\n",
        new=("        if reply.exchange.is_success:\n            self.record(reply.exchange)\n"),
        level="network",
        seed=2,
        check="requests_kept",
    ),
    Break(
        name="the key goes to the storage",
        module="proofsweep.client.session",
        old="sent_key = self._key if request.call.is_keyed else None",
        new="sent_key = self._key",
        level="quiet",
        seed=1,
        check="slots",
    ),
    Break(
        name="an answer that comes too early is taken",
        module="proofsweep.client.transport",
        old="if isinstance(stream, _Stream) and stream.has_read:",
        new="if isinstance(stream, _Stream):",
        level="network",
        seed=12,
        check="requests_kept",
    ),
    Break(
        name="an unknown verdict is accepted",
        module="proofsweep.domain.outcomes",
        old=("    if verdict not in VERDICT_ACTIONS:\n        return Rejected("),
        new=(
            "    if verdict not in VERDICT_ACTIONS:\n        return Accepted(answer) if good is not None else Rejected("
        ),
        level="quiet",
        seed=14,
        check="answers",
    ),
    Break(
        name="`good` is ignored",
        module="proofsweep.domain.outcomes",
        old="    if good is True and verdict == Verdict.VALID:",
        new="    if verdict == Verdict.VALID:",
        level="quiet",
        seed=1,
        check="answers",
    ),
    Break(
        name="the first answer of a file counts as its newest",
        module="proofsweep.store.latest",
        old='[(name, "ascending") for name in NEWEST_LAST]',
        new='[(name, "descending") for name in NEWEST_LAST]',
        level="kills",
        seed=2,
        check="latest",
    ),
    Break(
        name="what waits for evidence is tried again",
        module="proofsweep.verify.worker",
        old="    _verified(leg, (item for item in leg.completed.items() if item.manifest_row not in waiting))",
        new="    del waiting\n    _verified(leg, leg.completed.items())",
        level="quiet",
        seed=8,
        check="calls_again",
    ),
    Break(
        name="the clock of the machine is believed",
        module="proofsweep.client.service_clock",
        old="            if low - self._high > _ASTRAY_SECONDS",
        new="            if low < math.inf:\n                return\n            if low - self._high > _ASTRAY_SECONDS",
        level="clocks",
        seed=26,
        check="listings",
    ),
    Break(
        name="a leg ends before its row is there",
        module="proofsweep.verify.commit",
        old='            results.create_part(name, "runs", [with_instants("runs", cells)])',
        new="            pass",
        level="quiet",
        seed=1,
        check="legs",
    ),
    Break(
        name="segments are learned from a listing alone",
        module="proofsweep.verify.commit",
        old="        own = self._own.segments(table)\n",
        new="        own = list[Segment]()\n",
        level="lag",
        seed=3,
        check="requests_kept",
    ),
    Break(
        name="a store that went is taken for an empty one",
        module="proofsweep.store.folder_root",
        old="        if place == self._place or not self._is_marked:",
        new="        if place or not self._is_marked:",
        level="mounts",
        seed=18,
        check="mount_point",
    ),
    Break(
        name="what was begun is finished below a mount point",
        module="proofsweep.ingest.disposal",
        old="        return len(mount_of(move.name)) < len(move.mount)",
        new="        return False",
        level="mounts",
        seed=300130,
        check="places",
    ),
    Break(
        name="a file whose share goes counts as removed",
        module="proofsweep.ingest.disposal",
        old="            self._refuse_away(move)  # a share that goes meanwhile makes the file look as if it were gone already\n",
        new="",
        level="mounts",
        seed=300151,
        check="places",
    ),
    Break(
        name="a list goes that may count again",
        module="proofsweep.audit.prune",
        old="    finished = [run for run in newest_first if run.is_over]\n",
        new="    finished = list[RunRecord]()\n",
        level="mounts",
        seed=300102,
        check="listings",
    ),
    Break(
        name="who ends deletes a pause unread",
        module="proofsweep.verify.rate_leases",
        old="        self.heed_pause()\n        if self._pause.is_left_over",
        new="        if self._pause.is_left_over",
        level="two",
        seed=300099,
        check="pauses",
    ),
)


def break_of(name: str) -> Break:
    return next(each for each in BREAKS if each.name == name)
