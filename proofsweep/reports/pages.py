"""The pages of a catalog and of a night: one HTML file each, which needs no network."""

from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path

import jinja2
from markupsafe import Markup

from proofsweep import __version__
from proofsweep.config.locations import is_bucket
from proofsweep.domain.errors import ResultsError, UsageError
from proofsweep.domain.runs import OUTCOMES
from proofsweep.domain.text import duration_text, minute_of, printable
from proofsweep.domain.verdicts import MEANING_OF_VALID
from proofsweep.queries.catalog import CatalogCounts, PageChoice, catalog_facts
from proofsweep.queries.changes import Comparison, run_changes, words_of_cause
from proofsweep.queries.nights import Measures, NightResult, attention_of, measures_of, nights_of, standing_of
from proofsweep.queries.status import NEED_ATTENTION, RunStatus, describe_run, environment_in
from proofsweep.reports.charts import Chart, bars, histogram, lines, night_bars, night_line
from proofsweep.reports.run import calls_of, ending_of, notes_of
from proofsweep.store.ledger import Ledger
from proofsweep.store.objects import open_store
from proofsweep.store.parts import Results

_FOLDER = Path(__file__).parent
_BEGINNING = b"<!doctype html>"
_PACE = {"calls": "uploads and verify", "throttled": "answered 429", "failed": "no usable answer"}
_TIMES = {"uploads": "uploads", "slot": "slot", "verify": "verify"}
_MOST_SECONDS = 120.0  # of a night; longer ones are shown in minutes


def night_page(
    results: Results,
    run_id: str,
    made_at: datetime,
    choice: PageChoice = PageChoice(),  # noqa: B008 - it is frozen
    *,
    packet: str = "",
) -> str:
    """Write the page of a run; UsageError for an unknown tag, ResultsError for an unknown run."""
    run = describe_run(results, run_id)
    measures, standing = measures_of(results, run.plan), standing_of(results, run)
    attention = attention_of(results, run, choice)
    with run_changes(Comparison(results, run.plan)) as found:
        counts = [(change, words_of_cause(cause), files) for change, cause, files in found.counts()]
        changes = counts, found.as_before()
    return _template("night.html.jinja").render(
        run=run,
        sentence=_sentence_of_run(run),
        ending=ending_of(run),
        notes=notes_of(run),
        standing=standing,
        earlier=max(standing[2] - sum(map(run.rows, NEED_ATTENTION)), 0) if standing else 0,
        changes=changes,
        by_tag=attention.by_tag,
        tags=[tag for tag, _ in attention.by_tag],
        kinds=attention.kinds,
        calls=calls_of(run),
        quota=_quota_of(run),
        pace=_pace_of(measures),
        grades=_grades_of(measures),
        measures=measures,
        packet=packet,
        head=run.head,
        results=results.store.url,
        made_at=made_at,
    )


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
    spans += [] if choice.since is None else [(f"Since {_day_of(choice.since)}", "changed_since")]
    newest = {night.identity: night.run_id for night in nights}
    with catalog_facts(results, label, choice, list(newest.values())) as facts:
        counts, shares = facts.counts(), facts.shares_by([night.run_id for night in nights])
        nights = [replace(night, answered_percent=share) for night, share in zip(nights, shares, strict=False)]
        return _template("catalog.html.jinja").render(
            environment_label=label,
            counts=counts,
            sentence=sentence_of(counts),
            catalogs=facts.by_catalog(),
            tags=list(facts.tags),
            tables=[facts.by_tag(tag) for tag in facts.tags],
            changes=[(words, facts.turned(table, "broken"), facts.turned(table, "fixed")) for words, table in spans],
            kinds=facts.kinds(),
            nights=nights[::-1],
            charts=_trend_of(nights),
            head=Ledger(results.store).head(),
            results=results.store.url,
            made_at=made_at,
        )


def write_page(place: str, page: str) -> int:
    """Put a page in its place, whole; return its bytes. UsageError if a file that is no page is there; it stays."""
    content = page.encode()
    if is_bucket(place):
        _put(place, content)
    else:
        _write(Path(place), content)
    return len(content)


def _sentence_of_run(run: RunStatus) -> str:
    rows = "file was" if run.plan.items == 1 else "files were"
    parts = [f"{run.finished:,} of {run.plan.items:,} {rows} checked in this run: {run.rows('accepted'):,} accepted"]
    if attention := sum(map(run.rows, NEED_ATTENTION)):
        found = ", ".join(f"{run.rows(outcome):,} {outcome}" for outcome in NEED_ATTENTION if run.rows(outcome))
        parts.append(f"{attention:,} {'needs' if attention == 1 else 'need'} attention ({found})")
    parts += [f"{run.remaining:,} {'remains' if run.remaining == 1 else 'remain'}"] if run.remaining else []
    return "; ".join(parts) + "."


def sentence_of(counts: CatalogCounts) -> str:
    answered = f"{counts.answered:,} of {counts.files:,} {'file' if counts.files == 1 else 'files'}"
    share = percent_of(counts.answered, counts.files)
    attention = f"{counts.need_attention:,} {'needs' if counts.need_attention == 1 else 'need'} attention"
    parts = [
        f"{answered} ({share} %) {'has' if counts.answered == 1 else 'have'} an answer",
        f"{counts.accepted:,} accepted, {attention}",
    ]
    parts += [f"{counts.not_sent:,} not sent yet"] if counts.not_sent else []
    parts += [f"{counts.gone:,} {'is' if counts.gone == 1 else 'are'} gone"] if counts.gone else []
    return "; ".join(parts) + "."


def _quota_of(run: RunStatus) -> list[str]:
    known = [leg for leg in run.legs if leg.count("quota_after") is not None]
    if not known:
        return []
    left, reset = known[-1].count("quota_after") or 0, known[-1].quota_reset
    resets = f"; it resets {minute_of(reset)}." if reset else "."
    sentences = [f"{left:,} calls were left in the quota at the end{resets}"]
    if run.remaining and run.finished:
        needed = round(run.total("calls") / run.finished * run.remaining)
        fits = "which the quota allows" if needed <= left else "more than are left"
        sentences.append(f"The {run.remaining:,} rows that remain need about {needed:,} calls, {fits}.")
    return sentences


def _pace_of(measures: Measures) -> list[Chart]:
    if len(measures.pace) < 2:  # noqa: PLR2004 - of a single point no line is drawn
        return []
    return [
        lines("Calls per second", measures.pace, _PACE, "calls per second"),
        lines("Median time of a call", measures.pace, _TIMES, "milliseconds"),
    ]


def _grades_of(measures: Measures) -> list[Chart]:
    charts = [bars("Files by classification", measures.classifications)] if measures.classifications else []
    charts += [bars("Files by risk category", measures.risks)] if measures.risks else []
    for grade in ("human", "ai", "unknown"):
        rows = [row for row in measures.grades if row["grade"] == grade]
        charts += [histogram(f"Grade {grade}", rows)] if rows else []
    return charts


def _trend_of(nights: Sequence[NightResult]) -> list[Chart]:
    if len(nights) < 2:  # noqa: PLR2004 - of a single night there is no trend
        return []
    charts = [night_bars("Files checked in each night", nights, {outcome: outcome for outcome in OUTCOMES})]
    if nights[-1].answered_percent is not None:
        charts.append(night_line("Share of today's files with an answer", nights, "%"))
    unit = "seconds" if max(night.seconds for night in nights) < _MOST_SECONDS else "minutes"
    return [
        *charts,
        night_bars("Calls to the service in each night", nights, {"calls": "calls"}),
        night_bars(f"{unit.capitalize()} of work in each night", nights, {unit: unit}),
    ]


def _template(name: str) -> jinja2.Template:
    return jinja_environment().get_template(name)


@cache
def jinja_environment() -> jinja2.Environment:
    """Return what fills the templates; whatever it fills in is shown as text."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_on_one_line,
    )
    script = (_FOLDER / "page.js").read_text(encoding="utf-8")
    made.globals |= {
        "script": Markup(script),  # noqa: S704 - our own file
        # The page's policy names its only script by this digest, so that no other one runs, whatever else goes wrong.
        "script_digest": b64encode(sha256(script.encode()).digest()).decode(),
        "style": Markup((_FOLDER / "style.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        "meaning": MEANING_OF_VALID,
        "version": __version__,
    }
    made.filters |= {"number": "{:,}".format, "percent": percent_of, "minute": minute_of, "day": _day_of}
    made.filters["duration"] = duration_text
    return made


def _on_one_line(value: object) -> object:
    """Write what others wrote without characters that are not seen; our own HTML has its lines."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def percent_of(part: int, whole: int) -> str:
    """Write a share in percent with one decimal, rounded down: 100 means all."""
    tenths = 1_000 * part // whole if whole else 0
    return "100" if tenths == 1_000 else f"{tenths / 10:.1f}"  # noqa: PLR2004 - all


def _day_of(instant: date | None) -> str:
    """Write a day, or the UTC day of an instant, as people read it in every country."""
    return "" if instant is None else f"{instant.day} {instant:%b %Y}"


def _put(url: str, content: bytes) -> None:
    folder, _, name = url.rpartition("/")
    if not name or folder.endswith(("/", ":")):
        raise UsageError(f"{printable(url)} names no page: give a bucket, a slash and a name such as catalog.html.")
    store = open_store(folder, "place of the report")
    _refuse_other(url, store.read(name))
    store.replace(name, content)


def _write(path: Path, content: bytes) -> None:
    scratch = path.with_name(f".{path.name}.part")
    try:
        _refuse_other(str(path), path.read_bytes() if path.is_file() else None)
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_bytes(content)
        scratch.replace(path)
    except OSError as error:
        with suppress(OSError):  # what hindered the writing may hinder this too
            scratch.unlink(missing_ok=True)
        because = error.strerror or "unknown error"
        raise ResultsError(f"The report cannot be written to {printable(str(path))} ({because}).") from error


def _refuse_other(place: str, present: bytes | None) -> None:
    if present is not None and not present.startswith(_BEGINNING):
        raise UsageError(f"{printable(place)} is no page and is not replaced. Name another with --file.")
