"""What operations did, in words."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from proofsweep.domain.items import Row
from proofsweep.domain.operations import Rotation
from proofsweep.domain.text import minute_of
from proofsweep.operations.results import Erasure, Inventory, NotesRefreshed, Recovered, counts_of

_PENDING = "Proofs that are pending are never listed."
_STATES = {
    "matched": "as answered",
    "differs": "differ from the answer",
    "no_file": "without a file",
    "not_listed": "of accepted files are not listed",
}


def line_of_inventory(found: Inventory) -> str:
    counts = [f"{found.count(state):,} {words}" for state, words in _STATES.items() if found.count(state)]
    whole = "" if found.problem is None else f"; the listing may not be whole: {found.problem}"
    return f"{found.listed:,} proofs listed: {', '.join(counts) or 'none'}{whole}"


def notes_of_inventory(found: Inventory) -> Iterator[str]:
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
    if not done.wanted:
        return "Every accepted proof has its note, or has none to come."
    states = ", ".join(f"{count:,} {status}" for status, count in sorted(done.states.items()))
    return f"{done.wanted:,} proofs without a note: {states}"


def line_of_recovery(done: Recovered) -> str:
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


_MOST_NAMED = 10


def lines_of_erasures(erasures: Sequence[Erasure], not_asked: int, recovered: int = 0) -> Iterator[str]:
    """Write the counts, then some failures; `recovered` answers of killed erasures are in the table only now."""
    counts = counts_of(each.row() for each in erasures)
    if recovered:
        yield f"Recorded {recovered:,} answers of an erasure that was killed."
    yield (
        f"{counts['erased']:,} erased, {counts['already_erased']:,} already erased or never there, "
        f"{counts['failed']:,} failed, {not_asked:,} not asked for."
    )
    failed = [each for each in erasures if each.reason is not None]
    for each in failed[:_MOST_NAMED]:
        yield f"  failed: {each.proof_id} · {each.reason} · {each.request_id or 'no request ID'}"
    if len(failed) > _MOST_NAMED:
        yield f"  and {len(failed) - _MOST_NAMED:,} more in the table `erasures`"
    if failed or not_asked:
        yield "Run the same command again: the service says `already_erased` of what is gone."


def line_of_erasures(erasures: Sequence[Erasure], not_asked: int) -> str:
    """Write the counts on one line without a proof ID, for a flow's state."""
    return " ".join(line for line in lines_of_erasures(erasures, not_asked) if not line.startswith(" "))


def json_of_erasures(
    operation_id: str, erasures: Sequence[Erasure], not_asked: int, recovered: int
) -> Mapping[str, object]:
    asked = [each.row() for each in erasures]
    return {
        "operation_id": operation_id,
        **counts_of(asked),
        "not_asked": not_asked,
        "recovered": recovered,
        "proofs": asked,
    }


def lines_of_rotation(rotation: Rotation, location: str, *, was_done: bool) -> Iterator[str]:
    """Yield where the new key is, and when the old one ends; never what they are."""
    named = "the new key" if rotation.new_key_id is None else f"the new key {rotation.new_key_id}"
    if was_done:
        yield f"The key was rotated at {minute_of(rotation.answered_at.astimezone(UTC))}, and nothing was done now."
        yield f"{named.capitalize()} is in {location}. --again rotates the key in use once more."
    else:
        yield f"Rotated: {named} is tested, and is in {location}."
    yield f"The old key ends {_end_of(rotation)}. A run at work uses it until it is refused, then the new one."
    yield "Put the new key wherever else the old one is used; an alert reminds you a day before the old one ends."


def json_of_rotation(rotation: Rotation, location: str, *, was_done: bool) -> dict[str, object]:
    return rotation.row() | {"place": location, "was_done": was_done}


def _end_of(rotation: Rotation) -> str:
    at = minute_of(rotation.old_key_ends_at.astimezone(UTC))
    if rotation.previous_key_expires_at is None:
        return f"about {at}: the service did not say when, and the contract gives it 72 hours"
    return f"at {at}"


def line_of_round(probes: Sequence[Row]) -> str:
    return " · ".join(_words_of(probe) for probe in probes)


def _words_of(probe: Row) -> str:
    elapsed = float(str(probe["elapsed_ms"]))
    state = "well" if probe["trouble"] is None else str(probe["trouble"])
    return f"{probe['call']} {state}, {elapsed:,.0f} ms{_headroom_of(probe)}"


def _headroom_of(probe: Row) -> str:
    left, limit, reset = probe["rate_remaining"], probe["rate_limit"], probe["rate_reset"]
    if not isinstance(left, int):
        return ""
    of = f" of {limit:,}" if isinstance(limit, int) else ""
    until = f" until {minute_of(reset)}" if isinstance(reset, datetime) else ""
    return f", {left:,}{of} calls left{until}"
