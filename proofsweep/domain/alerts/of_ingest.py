"""What is told of a pass over a watched folder: files that could not be moved, and files that are not tried again."""

from collections.abc import Collection, Iterator, Mapping

from proofsweep.domain.alerts.messages import Alert, AlertKind, cause_of, harmless, quoted, shortened


def alerts_of_pass(
    environment: str, watched: str, results_url: str, unmoved: Mapping[str, int], given_up: Collection[str]
) -> Iterator[Alert]:
    """Tell of verified files that could not be moved, counted by the reason, and of items that failed too often.

    The cause of the former is the folder; each of the latter is a cause.
    """
    tables, where = f"Tables: {quoted(results_url)}", f"({harmless(environment)})"
    if unmoved:
        lines = [
            f"They lie in {quoted(watched)} still:",
            *shortened([f"- {count:,}: {quoted(reason)}" for reason, count in unmoved.items()]),
            "To do: make room at the target, or give the right to write there. The next pass moves them.",
            tables,
        ]
        yield Alert(
            kind=AlertKind.NOT_MOVED,
            causes=(cause_of(AlertKind.NOT_MOVED, environment, watched),),
            subject=f"proofsweep: verified files that are not moved: {sum(unmoved.values()):,} {where}",
            body="\n".join(lines),
        )
    if given_up:
        lines = [
            f"Each failed as often as `ingest.tries` allows. No pass over {quoted(watched)} tries it again.",
            "To do: `proofsweep rejects` names them and says why. Have them delivered anew, or touch them.",
            tables,
        ]
        yield Alert(
            kind=AlertKind.GIVEN_UP,
            causes=tuple(cause_of(AlertKind.GIVEN_UP, environment, watched, item) for item in sorted(given_up)),
            subject=f"proofsweep: delivered files that are given up: {len(given_up):,} {where}",
            body="\n".join(lines),
        )
