"""What became of a list of proofs, in words and as one object."""

from collections.abc import Iterator, Mapping, Sequence

from proofsweep.model.erasure import Erasure, counts_of

# Chosen: a screen shows as many failures; half hides what would fit, twice scrolls the counts away.
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
    """Give the same as one object, with what became of each proof."""
    asked = [each.row() for each in erasures]
    return {
        "operation_id": operation_id,
        **counts_of(asked),
        "not_asked": not_asked,
        "recovered": recovered,
        "proofs": asked,
    }
