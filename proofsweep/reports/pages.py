"""The pages of a catalog and of a run: one HTML file each, which needs no network."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup

from proofsweep import __version__
from proofsweep.config.locations import is_bucket, new_file
from proofsweep.domain.errors import UsageError
from proofsweep.domain.items import proof_id_of
from proofsweep.domain.outcomes import MEANING_OF_VALID
from proofsweep.domain.reasons import about
from proofsweep.domain.runs import OUTCOMES
from proofsweep.domain.text import counted, minute_of, percent_of, printable
from proofsweep.queries.changes import words_of_cause
from proofsweep.queries.night_standing import BEFORE_ALL
from proofsweep.queries.page_facts import CatalogFiles, FileCounts, Night, PageFacts
from proofsweep.queries.selected_rows import AttentionGroup, ShownFile
from proofsweep.queries.status import NEED_ATTENTION, RunStatus
from proofsweep.reports.charts import Chart, bars, lines
from proofsweep.reports.run import calls_of, ending_of, notes_of
from proofsweep.store.objects import open_place

_FOLDER = Path(__file__).parent
_BEGINNING = b"<!doctype html>"
_LONGEST_NAME, _LONGEST_VALUE = 260, 60  # letters: a name of a file system has 255
_LONGEST_WORD = 15  # letters of a word that is never broken, such as an ISRC
_MOST_VALUES = 100  # of a tag in its table
_MOST_CATALOGS = 100
_OLD_DAYS = 30  # a catalog without a night for longer may be over
_TURNED = {  # each change in the words of the page, of one file and of several
    "broken": ("broke", "broke", "Why now"),
    "fixed": ("was mended", "were mended", "What was wrong"),
    "moved": ("has another name", "have other names", "How it stands"),
    "gone": ("is gone", "are gone", "How it stood"),
    "new": ("is new", "are new", "How it stands"),
}


@dataclass(frozen=True, slots=True)
class Kind:
    """The files of which the same is to be done."""

    what_to_do: str
    groups: Sequence[AttentionGroup]

    @property
    def files(self) -> int:
        return sum(group.rows for group in self.groups)

    @property
    def shown(self) -> list[tuple[ShownFile, str]]:
        """The first files, each with why, by their names."""
        named = [(each, group.in_words) for group in self.groups for each in group.files]
        return sorted(named, key=lambda each: each[0].file)


def run_page(run: RunStatus, facts: PageFacts, results_url: str, made_at: datetime) -> str:
    return _page(
        "run.html.jinja",
        facts,
        run=run,
        sentence=_sentence_of_run(run),
        ending=ending_of(run),
        notes=notes_of(run),
        calls=calls_of(run),
        charts=_grades_of(facts.grades),
        results=results_url,
        made_at=made_at,
    )


def catalog_page(facts: PageFacts, results_url: str, made_at: datetime) -> str:
    old = [each for each in facts.catalogs if (made_at.date() - each.last).days > _OLD_DAYS]
    return _page(
        "catalog.html.jinja",
        facts,
        sentence=sentence_of(facts.counts),
        before=_before(facts.nights),
        open_since=_open_since(facts),
        charts=_trend_of(facts.nights),
        called=_short_names(facts.catalogs),
        old=old,
        results=results_url,
        made_at=made_at,
    )


def _page(template: str, facts: PageFacts, **shown: object) -> str:
    return jinja_environment().get_template(template).render(facts=facts, kinds=_kinds_of(facts.groups), **shown)


def write_page(place: str, page: str) -> int:
    """Put a page in its place, whole; return its bytes. UsageError if a file that is no page is there; it stays."""
    content = page.encode()
    if not is_bucket(place):
        with new_file(Path(place), replaces=_BEGINNING) as file:
            return file.write(content)
    folder, _, name = place.rpartition("/")
    if not name or folder.endswith(("/", ":")):
        raise UsageError(f"{printable(place)} names no page: give a bucket, a slash and a name such as catalog.html.")
    store = open_place(folder, "place of the report")
    if not (store.read(name) or _BEGINNING).startswith(_BEGINNING):
        raise UsageError(f"{printable(place)} is no page and is not replaced. Name another with --file.")
    store.replace(name, content)
    return len(content)


def _kinds_of(groups: Sequence[AttentionGroup]) -> list[Kind]:
    kinds: dict[str, list[AttentionGroup]] = {}
    for group in groups:
        kinds.setdefault(group.what_to_do, []).append(group)
    return sorted((Kind(what, of_kind) for what, of_kind in kinds.items()), key=lambda kind: -kind.files)


def _sentence_of_run(run: RunStatus) -> str:
    rows = "file was" if run.plan.items == 1 else "files were"
    accepted = f"{run.rows('accepted'):,} accepted ({percent_of(run.rows('accepted'), run.finished)} %)"
    parts = [f"{run.finished:,} of {run.plan.items:,} {rows} checked in this run: {accepted}"]
    if attention := sum(map(run.attention, NEED_ATTENTION)):
        outcomes = filter(run.attention, NEED_ATTENTION)
        found = ", ".join(f"{run.attention(outcome):,} {outcome}" for outcome in outcomes)
        parts.append(f"{attention:,} {'needs' if attention == 1 else 'need'} attention ({found})")
    parts += [f"{run.remaining:,} {'remains' if run.remaining == 1 else 'remain'}"] if run.remaining else []
    return "; ".join(parts) + "."


def sentence_of(counts: FileCounts) -> str:
    accepted = f"{counts.accepted:,} of {counted(counts.files, 'file')}"
    share = percent_of(counts.accepted, counts.files)
    parts = [
        f"{accepted} ({share} %) {'is' if counts.accepted == 1 else 'are'} accepted",
        f"{counts.need_attention:,} {'needs' if counts.need_attention == 1 else 'need'} attention",
    ]
    parts += [f"{counts.not_sent:,} not sent yet"] if counts.not_sent else []
    return "; ".join(parts) + "."


def _before(nights: Sequence[Night]) -> str:
    """Say how the files stood before the newest night; empty if that is not known."""
    if len(nights) < 2 or nights[-2].standing is None:  # noqa: PLR2004 - there is one before
        return ""
    files, accepted = nights[-2].standing
    share = percent_of(accepted, files)
    return f"After the night before, of {_day_of(nights[-2].day)}: {accepted:,} of {files:,} ({share} %) accepted."


def _open_since(facts: PageFacts) -> str:
    """Say how long the files are open that need attention."""
    found = facts.open_since
    if found.oldest is None:
        return ""
    newly, older = found.newly, found.known - found.newly
    new = f"{newly:,} {'is' if newly == 1 else 'are'} open since the newest night, {older:,} for longer"
    oldest = _since(found.oldest, facts.nights[0].day)
    return new + (f": the oldest {oldest if oldest.startswith('before') else f'since {oldest}'}." if older else ".")


def _since(day: date | None, first: date) -> str:
    """Write since when a file is open; before the first night that is looked at, the day is not known."""
    if day is None:
        return "\N{EN DASH}"
    return f"before {_day_of(first)}" if day == BEFORE_ALL else _day_of(day)


def _short_names(catalogs: Sequence[CatalogFiles]) -> dict[str, str]:
    """Name each catalog by the end of its location, or by all of it if another one has this end."""
    ends = Counter(each.location.rstrip("/").rpartition("/")[2] for each in catalogs)
    named = {}
    for each in catalogs:
        end = each.location.rstrip("/").rpartition("/")[2]
        named[each.identity] = end if ends[end] == 1 else each.location
    return named


def _trend_of(nights: Sequence[Night]) -> list[Chart]:
    """Draw how the files stood after each night, since the first one of which that is known."""
    known = [(night.day, *night.standing) for night in nights if night.standing is not None]
    if len(known) < 2:  # noqa: PLR2004 - of a single night there is no trend
        return []
    days, files, accepted = zip(*known, strict=True)
    shares = [float(percent_of(some, of)) for of, some in zip(files, accepted, strict=True)]
    when = f"after each of {len(days)} nights from {_day_of(days[0])} to {_day_of(days[-1])}"
    share = f"Accepted share {when}: first {shares[0]:g} %, last {shares[-1]:g} %."
    counts = (
        f"Files {when}: first {files[0]:,}, {accepted[0]:,} accepted; last {files[-1]:,}, {accepted[-1]:,} accepted."
    )
    return [
        lines("Accepted, in percent of the files", days, {"{:g} %": shares}, share),
        lines("Files, and the accepted ones", days, {"{:,} files": files, "{:,} accepted": accepted}, counts),
    ]


def _grades_of(found: Sequence[tuple[str, float, int, int]]) -> list[Chart]:
    """Draw how many files have which value of a grade, all on one axis."""
    places = [place for _, _, place, _ in found]
    charts = []
    for grade, step in dict.fromkeys((grade, step) for grade, step, _, _ in found):
        axis = range(min(0, *places), max(9 if step == 0.1 else 0, *places) + 1)  # noqa: PLR2004 - tenths
        files = {place: files for of, _, place, files in found if of == grade}
        names = [f"{place * step:.10g}" for place in axis]
        spoken = ", ".join(
            f"{files[place]:,} from {name}" for place, name in zip(axis, names, strict=True) if place in files
        )
        counts = [files.get(place, 0) for place in axis]
        charts.append(bars(f"Grade {grade}, from", names, counts, f"Grade {grade}, files: {spoken}."))
    return charts


def shown_name(of: ShownFile) -> tuple[str, str]:
    """Return a file's folder and name on one line; of a very long one the end. A proof ID is not for a page."""
    is_file = of.audio is None or proof_id_of(of.audio) is None
    line = printable(of.file if is_file and of.file else of.item_id)
    short = line if len(line) <= _LONGEST_NAME else "…" + line[-_LONGEST_NAME:]
    folder, slash, name = short.rstrip("/").rpartition("/")
    return folder + slash, name


def _name_now(of: ShownFile) -> str:
    """Return the name that a moved file has now, as that of any other file."""
    return "".join(shown_name(replace(of, file=of.moved_to or "", audio=of.moved_to)))


def _name_before(of: ShownFile) -> str:
    return "".join(shown_name(replace(of, file=of.was or "", audio=of.was)))


def _short(value: str | None) -> str:
    line = printable(value or "\N{EN DASH}")
    return line if len(line) <= _LONGEST_VALUE else line[: _LONGEST_VALUE - 1] + "…"


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
    made.globals |= {
        "style": Markup((_FOLDER / "style.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        "meaning": MEANING_OF_VALID,
        "most_values": _MOST_VALUES,
        "most_catalogs": _MOST_CATALOGS,
        "old_days": _OLD_DAYS,
        "outcomes": OUTCOMES,
        "turned": _TURNED,
        "version": __version__,
    }
    made.filters |= {
        "number": "{:,}".format,
        "percent": percent_of,
        "minute": minute_of,
        "day": _day_of,
        "since": _since,
    }
    made.filters |= {
        "name": shown_name,
        "name_now": _name_now,
        "name_before": _name_before,
        "short": _short,
        "has_short_words": lambda value: all(len(word) <= _LONGEST_WORD for word in (value or "").split()),
        "why": lambda outcome, reason: about(reason, outcome).plain,
        "cause": words_of_cause,
    }
    return made


def _on_one_line(value: object) -> object:
    """Write what others wrote without characters that are not seen; our own HTML has its lines."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _day_of(day: date) -> str:
    """Write a day as people read it in every country."""
    return f"{day.day} {day:%b %Y}"
