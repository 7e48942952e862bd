"""Which rows of a catalog a run is of: one value for every command and schedule that plans. Pure."""

from dataclasses import dataclass
from datetime import UTC, datetime

from proofsweep.contract.limits import CALLS_PER_ITEM
from proofsweep.errors import UsageError
from proofsweep.verify.budget.bounds import duration_of
from proofsweep.verify.budget.budget import CALLS_TO_BEGIN

ANY_AGE = datetime.min.replace(tzinfo=UTC)
"""Every answer is younger."""

_NEEDS_QUOTES = frozenset(" '()<>|&;*?~#")
_NEEDS_ESCAPES = frozenset('"$`\\!')


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The options by which rows are chosen; without any, all rows are.

    Attributes:
        since_last: leave out files that are unchanged since their answer, whatever its age.
        max_age: leave out of these the files whose answer is younger: `30d`.
        oldest_first: take only as many rows as the calls are enough for: those that were never tried first, then those
            that were tried longest ago. Otherwise rows come in the catalog's order.
        reasons: of a redrive: why the rows were not accepted.
        root: the folder or prefix by which files are named; it goes before that of the settings.
        allow_outside: whether rows may lead out of it.
    """

    since_last: bool = False
    max_age: str | None = None
    oldest_first: bool = False
    reasons: tuple[str, ...] = ()
    root: str | None = None
    allow_outside: bool = False

    @property
    def text(self) -> str:
        """The options as on the command line; a run goes on only with those that it was planned with."""
        flags = {"--since-last": self.since_last, "--oldest-first": self.oldest_first}
        flags["--allow-outside"] = self.allow_outside
        values = [
            ("--max-age", self.max_age),
            *(("--reason", reason) for reason in self.reasons),
            ("--root", self.root),
        ]
        given = [flag for flag, is_given in flags.items() if is_given]
        return " ".join([*given, *(f"{option} {_quoted(value)}" for option, value in values if value is not None)])

    @property
    def is_of_due_rows(self) -> bool:
        """Whether rows are left out for what is known of them."""
        return self.since_last or self.max_age is not None or self.oldest_first

    def refuse_contradictions(self, max_calls: int | None) -> None:
        """Raise UsageError if the options contradict each other, or if one of them cannot be read."""
        if self.since_last and self.max_age is not None:
            raise UsageError("Give --since-last or --max-age, not both: the first one leaves out answers of any age.")
        if self.oldest_first and max_calls is None:
            raise UsageError(
                "--oldest-first needs --max-calls: it verifies as many rows as these calls are enough for."
            )
        if self.max_age is not None:
            duration_of(self.max_age)

    def answered_since(self, now: datetime) -> datetime | None:
        """Return when the answers were given that leave out their rows; None if none does."""
        if self.max_age is not None:
            return now - duration_of(self.max_age)
        return ANY_AGE if self.since_last else None

    def most_rows(self, max_calls: int | None) -> int | None:
        """Return how many rows are taken at most, the longest untried first; None for all."""
        if not self.oldest_first or max_calls is None:
            return None
        return max(1, (max_calls - CALLS_TO_BEGIN) // CALLS_PER_ITEM)


ALL_ROWS = Selection()


def _quoted(value: str) -> str:
    """Quote a value as a shell needs it; in double quotes if that is enough, since SQL has single ones."""
    if not _NEEDS_ESCAPES & {*value}:
        return f'"{value}"' if not value or _NEEDS_QUOTES & {*value} else value
    return "'" + value.replace("'", "'\\''") + "'"
