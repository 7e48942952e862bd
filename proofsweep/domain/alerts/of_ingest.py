"""What is told of a pass over a watched folder beside its end: files that are not tried again."""

from collections.abc import Collection

from proofsweep.domain.alerts.events import AlertKind
from proofsweep.domain.alerts.messages import Alert, cause_of, made_alert, quoted


def files_given_up(environment: str, watched: str, results_url: str, given_up: Collection[str]) -> list[Alert]:
    """Tell of items that failed too often; each is a cause."""
    if not given_up:
        return []
    causes = [cause_of(AlertKind.GIVEN_UP, environment, watched, item) for item in sorted(given_up)]
    title = f"delivered files that are given up: {len(given_up):,}"
    lines = [f"Each failed as often as `ingest.tries` allows. No pass over {quoted(watched)} tries it again."]
    return [made_alert(AlertKind.GIVEN_UP, environment, title, lines, causes, results_url=results_url)]
