"""What operations did, in words."""

from collections.abc import Iterator

from proofsweep.model.proofs import Inventory, NotesRefreshed, Recovered

_PENDING = "Proofs that are pending are never listed."
_STATES = {
    "matched": "as answered",
    "differs": "differ from the answer",
    "no_file": "without a file",
    "not_listed": "of accepted files are not listed",
}


def line_of_inventory(found: Inventory) -> str:
    """Say in one line what an inventory found."""
    counts = [f"{found.count(state):,} {words}" for state, words in _STATES.items() if found.count(state)]
    whole = "" if found.problem is None else f"; the listing may not be whole: {found.problem}"
    return f"{found.listed:,} proofs listed: {', '.join(counts) or 'none'}{whole}"


def notes_of_inventory(found: Inventory) -> Iterator[str]:
    """Say what a person should know of the figures."""
    if found.count("not_listed"):
        yield (
            f"{_PENDING} So a proof that is not listed is pending, was erased, belongs to another partner, or was "
            "issued while the list was read."
        )
    else:
        yield _PENDING
    if found.unnamed:
        yield f"{found.unnamed:,} listed items had no proof ID, and were left out."


def line_of_notes(done: NotesRefreshed) -> str:
    """Say in one line what became of process notes."""
    if not done.wanted:
        return "Every accepted proof has its note, or has none to come."
    states = ", ".join(f"{count:,} {status}" for status, count in sorted(done.states.items()))
    return f"{done.wanted:,} proofs without a note: {states}"


def line_of_recovery(done: Recovered) -> str:
    """Say in one line what became of sidecars."""
    words = {
        "recovered": "recovered",
        "differs": "differ from the sealed one, which was put beside",
        "same": "are the sealed ones",
        "intact": "as they were accepted",
        "exists": "not written, since another file has the name",
        "gone": "have no proof any more",
        "failed": "could not be had",
        "absent": "skipped, since their audio is gone",
        "watched": "skipped, since ingest watches their folder (--to writes elsewhere)",
    }
    counts = [f"{done.outcomes[outcome]:,} {said}" for outcome, said in words.items() if done.outcomes.get(outcome)]
    return f"{sum(done.outcomes.values()):,} sidecars: {', '.join(counts) or 'none'}"
