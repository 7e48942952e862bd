"""What is told of a pass over a watched folder: files that could not be moved, and files that are not tried again."""

from collections.abc import Collection, Mapping

from proofsweep.domain.alerts.messages import Alert, AlertKind, cause_of, harmless, quoted, shortened


def not_moved(environment: str, watched: str, results_url: str, files: Mapping[str, int]) -> Alert | None:
    """Tell that verified files could not be moved; `files` counts them by the reason."""
    if not files:
        return None
    lines = [
        f"They lie in {quoted(watched)} still:",
        *shortened([f"- {count:,}: {quoted(reason)}" for reason, count in files.items()]),
        "To do: make room at the target, or give the right to write there. The next pass moves them.",
        f"Tables: {quoted(results_url)}",
    ]
    return Alert(
        kind=AlertKind.NOT_MOVED,
        causes=(cause_of(AlertKind.NOT_MOVED, environment, watched),),
        subject=f"proofsweep: verified files that are not moved: {sum(files.values()):,} ({harmless(environment)})",
        body="\n".join(lines),
    )


def given_up(environment: str, watched: str, results_url: str, items: Collection[str]) -> Alert | None:
    """Tell of items that failed as often as they are tried; each of them is a cause."""
    if not items:
        return None
    lines = [
        f"Each failed as often as `ingest.tries` allows. No pass over {quoted(watched)} tries it again.",
        "To do: `proofsweep rejects` names them and says why. Have them delivered anew, or touch them.",
        f"Tables: {quoted(results_url)}",
    ]
    return Alert(
        kind=AlertKind.GIVEN_UP,
        causes=tuple(cause_of(AlertKind.GIVEN_UP, environment, watched, item) for item in sorted(items)),
        subject=f"proofsweep: delivered files that are given up: {len(items):,} ({harmless(environment)})",
        body="\n".join(lines),
    )
