"""How much of a catalog has an answer that is young enough. Pure."""

from dataclasses import dataclass

from proofsweep.domain.bounds import duration_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    rows: int  # of the whole catalog; those that can never be sent count too
    answered: int  # of these, the rows whose files, as they are now, have an answer younger than `max_age`
    max_age: str  # a span like `30d`

    @property
    def percent(self) -> int:
        return self.answered * 100 // self.rows if self.rows else 0

    @property
    def sentence(self) -> str:
        time = duration_of(self.max_age)
        age = f"{time.days} days" if time.days > 1 and not time.seconds else self.max_age.strip()
        answered = f"{self.answered:,} of {self.rows:,} rows"
        return f"{self.percent} % of the catalog has an answer younger than {age}: {answered}."
