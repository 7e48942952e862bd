"""How much of a catalog has an answer that is young enough. Pure."""

from dataclasses import dataclass

from proofsweep.model.bounds import duration_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The coverage of a catalog as it is listed now.

    Attributes:
        rows: of the whole catalog; those that can never be sent count too.
        answered: of these, the rows whose files, as they are now, have an answer younger than `max_age`.
        max_age: a span like `30d`.
    """

    rows: int
    answered: int
    max_age: str

    @property
    def percent(self) -> int:
        """The share in whole percent, rounded down: 100 means every row."""
        return self.answered * 100 // self.rows if self.rows else 0

    @property
    def sentence(self) -> str:
        """Say it to a person."""
        return (
            f"{self.percent} % of the catalog has an answer younger than {_in_words(self.max_age)}: "
            f"{self.answered:,} of {self.rows:,} rows."
        )


def _in_words(span: str) -> str:
    time = duration_of(span)
    is_days = time.days > 1 and not time.seconds
    return f"{time.days} days" if is_days else span.strip()
