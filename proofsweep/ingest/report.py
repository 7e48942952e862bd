"""What a pass over a watched folder did, as a value and in words: for the person who runs it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from proofsweep.domain.items import Row
from proofsweep.domain.reasons import remedy_for
from proofsweep.domain.text import markdown, printable
from proofsweep.ingest.rules import Decision, Disposition
from proofsweep.sources.names import ignored_words

_NAMED_FILES = 20  # on a screen; the table names all
_WAITING = {
    Decision.SETTLING: "not settled yet",
    Decision.INCOMPLETE: "waiting for a sidecar or for their end",
    Decision.INCOMPLETE_BATCH: "waiting for the rest of their delivery",
    Decision.RESTING: "waiting for another try",
}


@dataclass(slots=True)
class PassReport:
    decisions: Counter[Decision] = field(default_factory=Counter)  # listed files by what was done with them
    rows: list[Row] = field(default_factory=list)  # of the table `ingest`
    not_moved: list[Row] = field(default_factory=list)  # that should have been moved, also those of earlier passes
    waiting: list[Row] = field(default_factory=list)  # files, and sidecars without audio: file, why, detail
    run_ids: list[str] = field(default_factory=list)  # the runs that it gave to be verified
    ignored: Mapping[str, int] = field(default_factory=dict)  # entries that are no files to verify, by the cause
    is_whole: bool = True  # False if rows of a run remain, and the pass ended there

    def line(self, folder: str) -> str:
        outcomes = Counter(str(row["outcome"]) for row in self.rows)
        moved = Counter(str(row["disposition"]) for row in self.rows)
        parts = [f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items())] or ["nothing new"]
        parts += [
            f"{moved[word]:,} moved ({word})" for word in (Disposition.ACCEPTED, Disposition.QUARANTINED) if moved[word]
        ]
        parts += [f"{moved[Disposition.GONE]:,} gone meanwhile"] if moved[Disposition.GONE] else []
        parts += [f"{count:,} {words}" for decision, words in _WAITING.items() if (count := self.decisions[decision])]
        ignored = [f"ignored: {ignored_words(self.ignored)}"] if self.ignored else []
        return "; ".join([f"{printable(folder)}: {', '.join(parts)}", *self.unmoved_lines(), *ignored])

    def unmoved_lines(self) -> list[str]:
        reasons = Counter(str(row["detail"]) for row in self.not_moved)
        return [f"{count:,} not moved: {printable(detail)}" for detail, count in reasons.most_common()]

    def messages(self) -> list[str]:
        """Return why moves were not made, what to do about files that were not accepted, and what waits."""
        messages = [f"{_audio(row)}: not moved. {row['detail']}" for row in self.not_moved]
        messages += [self._message(row) for row in self.rows if row["outcome"] != "accepted"]
        messages += [f"{each['file']}: {_why_it_waits(each)}" for each in self.waiting]
        more = len(messages) - _NAMED_FILES
        return [*messages[:_NAMED_FILES], *([f"… and {more:,} more"] if more > 0 else [])]

    def markdown(self, folder: str) -> str:
        return "\n".join([self.line(markdown(folder)), "", *(f"- {markdown(each)}" for each in self.messages())])

    def document(self, folder: str) -> dict[str, object]:
        return {
            "folder": printable(folder),
            "files": {str(decision): self.decisions[decision] for decision in Decision},
            "ignored": dict(self.ignored),
            "runs": self.run_ids,
            "rows": self.rows,
            "not_moved": self.not_moved,
            "waiting": self.waiting,
        }

    def _message(self, row: Row) -> str:
        reason = str(row["reason"])
        return f"{_audio(row)}: {row['outcome']}, {printable(reason)}: {remedy_for(reason)}"


def _why_it_waits(waiting: Row) -> str:
    if waiting["why"] not in _WAITING:
        return "no audio beside it has its name"
    words = _WAITING[Decision(str(waiting["why"]))].replace("their", "its")
    return words if waiting["detail"] is None else f"{words} ({waiting['detail']})"


def _audio(row: Row) -> str:
    return printable(str(row["audio"]))
