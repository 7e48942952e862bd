"""What one pass over a watched folder did: as a value, and in words for the person who runs it."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from proofsweep.domain.items import Row
from proofsweep.domain.reasons import HINDERS_NOTHING, Reason, about
from proofsweep.domain.text import markdown, printable
from proofsweep.files.folder_listing import Cause, ignored_words
from proofsweep.ingest.rules import Decision, Disposition
from proofsweep.ingest.scan import ABSENT, ARCHIVE, SET_ASIDE, STRAY, WITHOUT_AUDIO

_NAMED_FILES = 20  # on a screen; the table names all
_WAITING = {
    Decision.SETTLING: "not settled yet",
    Decision.INCOMPLETE: "waiting for a sidecar or for their end",
    Decision.INCOMPLETE_BATCH: "waiting for the rest of their delivery",
    Decision.RESTING: "waiting for another try",
}

_NAMED = {
    Cause.ORPHAN_SIDECARS: "no audio beside it has its name",
    Cause.UNFINISHED: "it is still being written, or its upload ended early",
    Reason.STAND_IN: "it is not downloaded: only its placeholder lies there",
    Cause.NOT_DOWNLOADED: "it is not downloaded: only its placeholder lies there",
    ABSENT: "a message names it, and it is not there yet",
    STRAY: "a message, or a completion file, that lies in no delivery's folder; give each delivery a folder of its own",
    ARCHIVE: "an archive is not read: unpack it",
    SET_ASIDE: "a test, or a withdrawn release: it is never moved",
    WITHOUT_AUDIO: "a delivery without audio, which is complete",
}


@dataclass(slots=True)
class PassReport:
    decisions: Counter[Decision] = field(default_factory=Counter)  # listed files by what was done with them
    rows: list[Row] = field(default_factory=list)  # of the table `ingest`
    outcomes: Counter[str] = field(default_factory=Counter)  # of the files that legs have verified since the last pass
    not_moved: dict[str, Row] = field(default_factory=dict)  # by place, that should have been moved, now or before
    without_audio: list[Row] = field(default_factory=list)  # deliveries that were moved: folder, moved_to
    waiting: list[Row] = field(default_factory=list)  # files, and sidecars without audio: file, why, detail
    run_ids: list[str] = field(default_factory=list)  # the runs that it gave to be verified
    ignored: Mapping[str, int] = field(default_factory=dict)  # entries that are no files to verify, by the cause
    is_whole: bool = True  # False if rows of a run remain, and the pass ended there

    def add(self, rows: Collection[Row]) -> None:
        """Add what became of some files, in the place of what was known of them before."""
        again = {_key_of(row) for row in rows}
        self.rows = [row for row in self.rows if _key_of(row) not in again]
        self.rows += rows

    def line(self, folder: str) -> str:
        lines = [f"{printable(folder)}: {', '.join(self._counts())}", *self.unmoved_lines()]
        if self.ignored:
            lines.append(f"ignored: {ignored_words(self.ignored)}")
        return "; ".join(lines)

    def _counts(self) -> Iterator[str]:
        moved = Counter[str]()
        gone = 0
        for row in self.rows:
            gone += row["disposition"] == Disposition.GONE
            if row["audio_moved_to"]:
                moved[str(row["disposition"])] += 1
        for outcome, count in sorted(self.outcomes.items()):
            yield f"{count:,} {outcome}"
        for disposition, count in sorted(moved.items()):
            yield f"{count:,} moved ({disposition})"
        if not self.outcomes and not moved:
            yield "nothing new"
        if self.without_audio:
            yield f"{len(self.without_audio):,} deliveries without audio moved"
        if gone:
            yield f"{gone:,} gone meanwhile"
        for decision, words in _WAITING.items():
            if self.decisions[decision]:
                yield f"{self.decisions[decision]:,} {words}"

    def unmoved_lines(self) -> list[str]:
        details = Counter(str(row["detail"]) for row in self.not_moved.values())
        return [f"{count:,} not moved: {printable(detail)}" for detail, count in details.most_common()]

    def waiting_lines(self) -> list[str]:
        return [f"{row['file']}: {_why_it_waits(row)}" for row in self.waiting]

    def messages(self, said: Collection[str] = ()) -> list[str]:
        """Return why moves were not made, what to do about files that were not accepted, and what waits.

        Of what waits, lines that the pass before has `said` are left out.
        """
        messages = list(self._messages_of_files())
        messages += [line for line in self.waiting_lines() if line not in said]
        more = len(messages) - _NAMED_FILES
        if more > 0:
            messages[_NAMED_FILES:] = [f"… and {more:,} more; --json names all"]
        return messages

    def _messages_of_files(self) -> Iterator[str]:
        for row in self.not_moved.values():
            audio = printable(str(row["audio"]))
            yield f"{audio}: not moved. {row['detail']}"
        for row in self.rows:
            audio = printable(str(row["audio_moved_to"] or row["audio"]))
            reason = str(row["reason"])
            if row["outcome"] != "accepted" and reason not in HINDERS_NOTHING:
                yield f"{audio}: {row['outcome']}, {printable(reason)}: {about(reason).remedy}"
            elif row["disposition"] == Disposition.QUARANTINED:
                yield f"{audio}: {row['detail']}"
        for delivery in self.without_audio:
            yield f"{delivery['folder']}: moved to {delivery['moved_to']}; it has no audio"

    def markdown(self, folder: str) -> str:
        lines = [self.line(markdown(folder)), ""]
        lines += [f"- {markdown(message)}" for message in self.messages()]
        return "\n".join(lines)

    def document(self, folder: str) -> dict[str, object]:
        return {
            "folder": printable(folder),
            "files": {str(decision): self.decisions[decision] for decision in Decision},
            "ignored": dict(self.ignored),
            "runs": self.run_ids,
            "rows": self.rows,
            "without_audio": self.without_audio,
            "not_moved": [*self.not_moved.values()],
            "waiting": self.waiting,
        }


def _key_of(row: Row) -> tuple[object, object]:
    return row["audio"], row["audio_version"]


def _why_it_waits(waiting: Row) -> str:
    named = _NAMED.get(str(waiting["why"]))
    if named is not None:
        return str(waiting["detail"] or named)
    decision = Decision(str(waiting["why"]))
    words = _WAITING[decision].replace("their", "its")
    if waiting["detail"] is not None:
        words += f" ({waiting['detail']})"
    return words
