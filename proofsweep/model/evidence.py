"""What an evidence file holds, as values. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from proofsweep.model.tables.columns import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which rows are asked for."""

    environment: str  # the service's label
    run_id: str | None  # the run; None for how each file stands now, by its newest answer of all runs
    tags: Mapping[str, str]  # names and values of the manifest's further columns that each row has

    @property
    def words(self) -> str:
        """Return it as one line."""
        with_tags = f" with {', '.join(f'{name}={value}' for name, value in self.tags.items())}" if self.tags else ""
        of_run = "the newest answer of each file" if self.run_id is None else f"the rows of run {self.run_id}"
        return f"{of_run}{with_tags}, environment {self.environment}"


@dataclass(slots=True, kw_only=True)
class Contents:
    """What was packed."""

    wanted: Wanted
    # how many rows have which outcome, or are `redacted`: rows of the same parts without their content.
    outcomes: dict[str, int] = field(default_factory=dict)
    # rows that are left out, by the reason why no receipt holds them one by one.
    unproved: dict[str, int] = field(default_factory=dict)
    shown: list[Row] = field(default_factory=list)  # cells of the first rows, for a page
    receipts: int = 0  # how many there are
    head: str = ""  # digests of the receipts that no other one in the file names, joined by `+`
    signed: str | None = None  # the signed audit whose head holds all rows; None if there is none

    @property
    def rows(self) -> int:
        """How many rows there are, redacted ones among them."""
        return sum(self.outcomes.values())

    @property
    def counts(self) -> str:
        """Return how many rows have which outcome."""
        return ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(self.outcomes.items()))
