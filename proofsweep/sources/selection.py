"""Which rows of a catalog a run is of: one value for every command and schedule that plans."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from proofsweep.domain.errors import UsageError
from proofsweep.domain.outcomes import VERDICT_ACTIONS, Verdict
from proofsweep.domain.reasons import Reason
from proofsweep.domain.runs import OUTCOMES, duration_of, utc_of
from proofsweep.domain.text import did_you_mean, printable

ANY_AGE = datetime.min.replace(tzinfo=UTC)  # every answer is younger
_SOME_TIME = datetime.max.replace(tzinfo=UTC)
_NEEDS_QUOTES = frozenset(" '()<>|&;*?~#")
_NEEDS_ESCAPES = frozenset('"$`\\!')


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The options by which rows are chosen. Without any option, all rows are."""

    since_last: bool = False  # leave out files that are unchanged since their answer, whatever its age
    max_age: str | None = None  # leave out of these the files whose answer is younger: `30d`
    # take only as many rows as the calls are enough for: those that were never tried first, then those that were tried
    # longest ago. Otherwise rows come in the catalog's order.
    oldest_first: bool = False
    where: str | None = None  # take only rows that meet this SQL condition
    # take only rows whose audio or sidecar was modified since: an age like `2d`, a date or an instant.
    newer_than: str | None = None
    # take only rows that stand so by their newest answer: outcomes and reasons, as `rejects` has them.
    only: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The options as on the command line; a run goes on only with those that it was planned with."""
        options = list[str]()
        if self.since_last:
            options.append("--since-last")
        if self.oldest_first:
            options.append("--oldest-first")
        options += _written([("--max-age", self.max_age), *self._conditions])
        return " ".join(options)

    @property
    def conditions(self) -> str:
        """The options that a row must meet, however old its answer is; empty without any."""
        return " ".join(_written(self._conditions))

    @property
    def is_of_all_rows(self) -> bool:
        return not (self.since_last or self.max_age is not None or self.oldest_first or self.conditions)

    @property
    def _conditions(self) -> list[tuple[str, str | None]]:
        only = [("--only", word) for word in self.only]
        return [("--where", self.where), ("--newer-than", self.newer_than), *only]

    def refuse_contradictions(self, max_calls: int | None) -> None:
        """Raise UsageError if the options contradict each other, or if a time of them cannot be read."""
        if self.since_last and self.max_age is not None:
            raise UsageError("Give --since-last or --max-age, not both: the first one leaves out answers of any age.")
        if self.oldest_first and max_calls is None:
            raise UsageError(
                "--oldest-first needs --max-calls: it verifies as many rows as these calls are enough for."
            )
        reasons = {*Reason, *VERDICT_ACTIONS} - {Verdict.VALID}
        known = [*OUTCOMES, *sorted(reasons)]
        for word in self.only:
            if word not in known:
                meant = did_you_mean(word, known)
                words = ", ".join(known)
                raise UsageError(f"--only {printable(word)!r} is none of these{meant}: {words}.")
        self.answered_since(_SOME_TIME)
        self.modified_since(_SOME_TIME)

    def answered_since(self, now: datetime) -> datetime | None:
        """Return since when an answer leaves out its row; None if no answer does."""
        if self.max_age is not None:
            return now - duration_of(self.max_age)
        return ANY_AGE if self.since_last else None

    def modified_since(self, now: datetime) -> datetime | None:
        """Return since when a file must have been modified; None for any time. Without a zone, this machine's applies.

        UsageError if it cannot be read.
        """
        if self.newer_than is None:
            return None
        with suppress(ValueError, OverflowError):
            written = datetime.fromisoformat(self.newer_than.strip())
            return utc_of(written)
        with suppress(UsageError):
            return now - duration_of(self.newer_than)
        examples = "2d, 2026-11-21 or 2026-11-21T06:00+01:00"
        raise UsageError(f"--newer-than {self.newer_than!r} is neither an age nor a date; write it like {examples}.")


ALL_ROWS = Selection()


def _written(values: Iterable[tuple[str, str | None]]) -> Iterator[str]:
    for option, value in values:
        if value is not None:
            yield f"{option} {_quoted(value)}"


def _quoted(value: str) -> str:
    # SQL has single quotes, so double ones are used where they are enough for a shell.
    letters = {*value}
    if _NEEDS_ESCAPES & letters:
        escaped = value.replace("'", "'\\''")
        return f"'{escaped}'"
    if not value or _NEEDS_QUOTES & letters:
        return f'"{value}"'
    return value
