"""How the catalog of a run stands, and what changed in the run, by the views."""

from collections.abc import Sequence
from dataclasses import dataclass

from proofsweep.answers.run_changes import Comparison, run_changes, words_of_cause
from proofsweep.answers.run_status import NEED_ATTENTION, RunStatus
from proofsweep.answers.views.connection import answering
from proofsweep.store.plans_and_parts import Results


@dataclass(frozen=True, slots=True)
class Standing:
    """Counts of files.

    Attributes:
        is_of_catalog: whether they are of the whole catalog, as the newest run over it left it; else of a run alone.
    """

    files: int
    accepted: int
    need_attention: int
    is_of_catalog: bool


def standing_of(results: Results, run: RunStatus) -> Standing:
    """Return how the catalog stands by the view `coverage`; of a run that is not its newest, how the run ended.

    Raises:
        ResultsError: the store cannot be read.
    """
    query = "SELECT files, accepted, need_attention FROM coverage WHERE newest_run_id = ?"
    with answering(results, run.plan.environment, "coverage") as connection:
        found = connection.execute(query, [run.plan.run_id]).fetchall()
    for files, accepted, need_attention in found:
        return Standing(files, accepted, need_attention, is_of_catalog=True)
    return Standing(run.plan.items, run.rows("accepted"), sum(map(run.rows, NEED_ATTENTION)), is_of_catalog=False)


def changes_of(results: Results, run: RunStatus) -> tuple[Sequence[tuple[str, str, int]], int]:
    """Return how many files changed in a run, by change and cause in words, and how many are as before.

    Raises:
        ResultsError: the store cannot be read.
    """
    with run_changes(Comparison(results, run.plan)) as found:
        counts = [(change, words_of_cause(cause), files) for change, cause, files in found.counts()]
        return counts, found.as_before()
