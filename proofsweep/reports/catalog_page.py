"""The page of a catalog as it stands: one HTML file that needs no network, for people who never open a terminal."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.text import printable
from proofsweep.queries.catalog import CatalogCounts, catalog_facts
from proofsweep.queries.choice import PageChoice
from proofsweep.queries.meant_run import environment_in
from proofsweep.reports.charts import Chart, night_bars, night_line
from proofsweep.reports.nights import NightResult, nights_of
from proofsweep.reports.templates import day_of, percent_of, template
from proofsweep.store.plans_and_parts import Results


def catalog_page(
    results: Results,
    environment: str,
    made_at: datetime,
    choice: PageChoice = PageChoice(),  # noqa: B008 - it is frozen
) -> str:
    """Write the page of the catalogs as they stand; UsageError for an unknown tag, ResultsError if there is no run."""
    label = environment_in(results, environment)
    nights = nights_of(results, label, choice.catalog)
    if not nights and choice.catalog is not None:
        raise ResultsError(f"There is no run of the catalog {printable(choice.catalog)} in {results.store.url}.")
    spans = [("In the last run", "changed")]  # of which changes are shown, in words, each with its table
    spans += [] if choice.since is None else [(f"Since {day_of(choice.since)}", "changed_since")]
    newest = {night.identity: night.run_id for night in nights}
    with catalog_facts(results, label, choice, list(newest.values())) as facts:
        counts, shares = facts.counts(), facts.shares_by([night.run_id for night in nights])
        nights = [replace(night, answered_percent=share) for night, share in zip(nights, shares, strict=False)]
        return template("catalog.html.jinja").render(
            environment_label=label,
            choice=choice,
            counts=counts,
            sentence=sentence_of(counts),
            catalogs=facts.by_catalog(),
            tags=list(facts.tags),
            tables=[facts.by_tag(tag) for tag in facts.tags],
            changes=[(words, facts.turned(table, "broken"), facts.turned(table, "fixed")) for words, table in spans],
            kinds=facts.kinds(),
            nights=nights[::-1],
            charts=trend_of(nights),
            results=results.store.url,
            made_at=made_at,
        )


def sentence_of(counts: CatalogCounts) -> str:
    parts = [
        (
            f"{counts.answered:,} of {counts.files:,} {'file' if counts.files == 1 else 'files'} "
            f"({percent_of(counts.answered, counts.files)} %) {'has' if counts.answered == 1 else 'have'} an answer"
        )
    ]
    attention = f"{counts.need_attention:,} {'needs' if counts.need_attention == 1 else 'need'} attention"
    parts.append(f"{counts.accepted:,} accepted, {attention}")
    parts += [f"{counts.not_sent:,} not sent yet"] if counts.not_sent else []
    parts += [f"{counts.gone:,} {'is' if counts.gone == 1 else 'are'} gone"] if counts.gone else []
    return "; ".join(parts) + "."


_MOST_SECONDS = 120.0
_OUTCOMES = {"accepted": "accepted", "rejected": "rejected", "failed": "failed", "ineligible": "ineligible"}


def trend_of(nights: Sequence[NightResult]) -> list[Chart]:
    if len(nights) < 2:  # noqa: PLR2004 - see above
        return []
    charts = [night_bars("Files checked in each night", nights, _OUTCOMES)]
    if nights[-1].answered_percent is not None:
        charts.append(night_line("Share of today's files with an answer", nights, "%"))
    unit = "seconds" if max(night.seconds for night in nights) < _MOST_SECONDS else "minutes"
    return [
        *charts,
        night_bars("Calls to the service in each night", nights, {"calls": "calls"}),
        night_bars(f"{unit.capitalize()} of work in each night", nights, {unit: unit}),
    ]
