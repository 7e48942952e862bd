"""The pages of a catalog and of a run: one HTML file each, which needs no network."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup

from proofsweep import __version__
from proofsweep.config.locations import new_file
from proofsweep.domain.errors import UsageError
from proofsweep.domain.items import proof_id_of
from proofsweep.domain.outcomes import MEANING_OF_VALID
from proofsweep.domain.reasons import about
from proofsweep.domain.runs import OUTCOMES
from proofsweep.domain.text import counted, minute_of, percent_of, printable
from proofsweep.files.files import kind_of
from proofsweep.queries.changes import words_of_cause
from proofsweep.queries.night_standing import BEFORE_ALL
from proofsweep.queries.page_facts import CatalogFiles, FileCounts, Night, PageFacts
from proofsweep.queries.selected_rows import AttentionGroup, ShownFile
from proofsweep.queries.status import NEED_ATTENTION, RunStatus
from proofsweep.reports.charts import Chart, bars, lines
from proofsweep.reports.run import attention_words, calls_of, ending_of, notes_of
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
        named: list[tuple[ShownFile, str]] = []
        for group in self.groups:
            why = group.in_words
            named += [(file, why) for file in group.files]
        return sorted(named, key=lambda pair: pair[0].file)


def run_page(run: RunStatus, facts: PageFacts, results_url: str, made_at: datetime) -> str:
    sentence = _sentence_of_run(run)
    charts = _grades_of(facts.grades)
    return _page(
        "run.html.jinja",
        facts,
        run=run,
        sentence=sentence,
        ending=ending_of(run),
        notes=notes_of(run),
        calls=calls_of(run),
        charts=charts,
        results=results_url,
        made_at=made_at,
    )


def catalog_page(facts: PageFacts, results_url: str, made_at: datetime) -> str:
    recent = made_at.date() - timedelta(days=_OLD_DAYS)
    old = [catalog for catalog in facts.catalogs if catalog.last < recent]
    sentence = sentence_of(facts.counts)
    charts = _trend_of(facts.nights)
    names = _short_names(facts.catalogs)
    return _page(
        "catalog.html.jinja",
        facts,
        sentence=sentence,
        before=_before(facts.nights),
        open_since=_open_since(facts),
        charts=charts,
        called=names,
        old=old,
        results=results_url,
        made_at=made_at,
    )


def _page(template: str, facts: PageFacts, **shown: object) -> str:
    kinds = _kinds_of(facts.groups)
    environment = jinja_environment()
    page = environment.get_template(template)
    return page.render(facts=facts, kinds=kinds, **shown)


def write_page(place: str, page: str) -> int:
    """Put a page in its place, whole; return its bytes. UsageError if a file that is no page is there; it stays."""
    content = page.encode()
    if kind_of(place).is_on_this_machine:
        with new_file(Path(place), replaces=_BEGINNING) as file:
            return file.write(content)
    folder, _, name = place.rpartition("/")
    if not name or folder.endswith(("/", ":")):
        raise UsageError(f"{printable(place)} names no page: give a bucket, a slash and a name such as catalog.html.")
    store = open_place(folder, "place of the report")
    # A mistyped name must not cost somebody another file: only a page replaces a page.
    before = store.read(name) or _BEGINNING
    if not before.startswith(_BEGINNING):
        raise UsageError(f"{printable(place)} is no page and is not replaced. Name another with --file.")
    store.replace(name, content)
    return len(content)


def _kinds_of(groups: Sequence[AttentionGroup]) -> list[Kind]:
    # By what is to be done, not by what is wrong: a person who works through the page does one thing for all of them.
    groups_by_advice: dict[str, list[AttentionGroup]] = {}
    for group in groups:
        same = groups_by_advice.setdefault(group.what_to_do, [])
        same.append(group)
    kinds = [Kind(what_to_do, same) for what_to_do, same in groups_by_advice.items()]
    return sorted(kinds, key=lambda kind: -kind.files)


def _sentence_of_run(run: RunStatus) -> str:
    items, finished = run.plan.items, run.finished
    remaining = run.remaining
    files = _by_number(items, "file was", "files were")
    checked = f"{finished:,} of {items:,} {files} checked in this run"
    accepted = run.rows("accepted")
    share = percent_of(accepted, finished)
    parts = [f"{checked}: {accepted:,} accepted ({share} %)"]
    attention = sum(map(run.attention, NEED_ATTENTION))
    if attention:
        need = _by_number(attention, "needs", "need")
        of_which = attention_words(run)
        parts.append(f"{attention:,} {need} attention ({of_which})")
    if remaining:
        remain = _by_number(remaining, "remains", "remain")
        parts.append(f"{remaining:,} {remain}")
    return "; ".join(parts) + "."


def _by_number(number: int, one: str, several: str) -> str:
    return one if number == 1 else several


def sentence_of(counts: FileCounts) -> str:
    accepted, attention = counts.accepted, counts.need_attention
    files = counted(counts.files, "file")
    share = percent_of(accepted, counts.files)
    are = _by_number(accepted, "is", "are")
    parts = [f"{accepted:,} of {files} ({share} %) {are} accepted"]
    need = _by_number(attention, "needs", "need")
    parts.append(f"{attention:,} {need} attention")
    if counts.not_sent:
        parts.append(f"{counts.not_sent:,} not sent yet")
    return "; ".join(parts) + "."


def _before(nights: Sequence[Night]) -> str:
    """Say how the files stood before the newest night; empty if that is not known."""
    if len(nights) < 2:  # noqa: PLR2004 - there is one before
        return ""
    night = nights[-2]
    if night.standing is None:
        return ""
    files, accepted = night.standing
    share = percent_of(accepted, files)
    standing = f"{accepted:,} of {files:,} ({share} %) accepted"
    return f"After the night before, of {_day_of(night.day)}: {standing}."


def _open_since(facts: PageFacts) -> str:
    """Say how long the files are open that need attention."""
    open_since = facts.open_since
    if open_since.oldest is None:
        return ""
    newly = open_since.newly
    older = open_since.known - newly
    are = _by_number(newly, "is", "are")
    words = f"{newly:,} {are} open since the newest night, {older:,} for longer"
    if not older:
        return f"{words}."
    oldest = _since(open_since.oldest, facts.nights[0].day)
    if open_since.oldest != BEFORE_ALL:
        oldest = f"since {oldest}"
    return f"{words}: the oldest {oldest}."


def _since(day: date | None, first: date) -> str:
    """Write since when a file is open; before the first night that is looked at, the day is not known."""
    if day is None:
        return "\N{EN DASH}"
    if day == BEFORE_ALL:
        return f"before {_day_of(first)}"
    return _day_of(day)


def _short_names(catalogs: Sequence[CatalogFiles]) -> dict[str, str]:
    """Name each catalog by the end of its location, or by all of it if another one has this end."""
    # Two labels may each deliver a `list.csv`: then both are shown with all of their location, since the page would
    # else have two rows with one name.
    ends: list[str] = []
    for catalog in catalogs:
        location = catalog.location.rstrip("/")
        _, _, end = location.rpartition("/")
        ends.append(end)
    times = Counter(ends)
    names: dict[str, str] = {}
    for catalog, end in zip(catalogs, ends, strict=True):
        name = catalog.location
        if times[end] == 1:
            name = end
        names[catalog.identity] = name
    return names


def _trend_of(nights: Sequence[Night]) -> list[Chart]:
    """Draw how the files stood after each night, since the first one of which that is known."""
    days: list[date] = []
    files: list[int] = []
    accepted: list[int] = []
    shares: list[float] = []
    for night in nights:
        if night.standing is not None:
            files_then, accepted_then = night.standing
            days.append(night.day)
            files.append(files_then)
            accepted.append(accepted_then)
            shares.append(float(percent_of(accepted_then, files_then)))
    if len(days) < 2:  # noqa: PLR2004 - of a single night there is no trend
        return []
    first_day = _day_of(days[0])
    last_day = _day_of(days[-1])
    when = f"after each of {len(days)} nights from {first_day} to {last_day}"
    first_share, last_share = shares[0], shares[-1]
    spoken = f"Accepted share {when}: first {first_share:g} %, last {last_share:g} %."
    share_chart = lines("Accepted, in percent of the files", days, {"{:g} %": shares}, spoken)
    spoken = f"Files {when}: first {files[0]:,}, {accepted[0]:,} accepted"
    spoken += f"; last {files[-1]:,}, {accepted[-1]:,} accepted."
    counts = {"{:,} files": files, "{:,} accepted": accepted}
    count_chart = lines("Files, and the accepted ones", days, counts, spoken)
    return [share_chart, count_chart]


def _grades_of(found: Sequence[tuple[str, float, int, int]]) -> list[Chart]:
    """Draw how many files have which value of a grade, all on one axis."""
    first = last = 0
    files_of: dict[tuple[str, float], dict[int, int]] = {}  # by grade and step, the files at each place of the axis
    for grade, step, place, files in found:
        at_places = files_of.setdefault((grade, step), {})
        at_places[place] = files
        first, last = min(first, place), max(last, place)
    charts: list[Chart] = []
    for (grade, step), at_places in files_of.items():
        end = last
        if step == 0.1:  # noqa: PLR2004 - tenths
            # A share is between 0 and 1: its axis has all ten tenths, also where no file is.
            end = max(last, 9)
        names: list[str] = []
        counts: list[int] = []
        spoken: list[str] = []
        for place in range(first, end + 1):
            name = f"{place * step:.10g}"
            files = at_places.get(place, 0)
            names.append(name)
            counts.append(files)
            if files:
                spoken.append(f"{files:,} from {name}")
        listed = ", ".join(spoken)
        words = f"Grade {grade}, files: {listed}."
        chart = bars(f"Grade {grade}, from", names, counts, words)
        charts.append(chart)
    return charts


def shown_name(of: ShownFile) -> tuple[str, str]:
    """Return a file's folder and name on one line; of a very long one the end."""
    # A proof ID is not for a page: a file that is known by its proof alone has the item's ID in its place.
    is_file = of.audio is None or proof_id_of(of.audio) is None
    name = of.item_id
    if is_file and of.file:
        name = of.file
    line = printable(name)
    if len(line) > _LONGEST_NAME:
        line = f"…{line[-_LONGEST_NAME:]}"
    folder, slash, end = line.rstrip("/").rpartition("/")
    return folder + slash, end


def _name_now(of: ShownFile) -> str:
    """Return the name that a moved file has now, as that of any other file."""
    return _name_at(of, of.moved_to)


def _name_before(of: ShownFile) -> str:
    return _name_at(of, of.was)


def _name_at(of: ShownFile, location: str | None) -> str:
    there = replace(of, file=location or "", audio=location)
    return "".join(shown_name(there))


def _short(value: str | None) -> str:
    line = printable(value or "\N{EN DASH}")
    if len(line) > _LONGEST_VALUE:
        line = f"{line[: _LONGEST_VALUE - 1]}…"
    return line


def _has_short_words(value: str | None) -> bool:
    words = (value or "").split()
    return all(len(word) <= _LONGEST_WORD for word in words)


def _why(outcome: str, reason: str) -> str:
    return about(reason, outcome).plain


@cache
def jinja_environment() -> jinja2.Environment:
    """Return what fills the templates; whatever it fills in is shown as text."""
    # Strict: a name that a template spells wrong fails in a test, and leaves no hole in a page.
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_on_one_line,
    )
    style = (_FOLDER / "style.css").read_text(encoding="utf-8")
    made.globals |= {
        "style": Markup(style),  # noqa: S704 - our own file
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
        "has_short_words": _has_short_words,
        "why": _why,
        "cause": words_of_cause,
    }
    return made


def _on_one_line(value: object) -> object:
    """Write what others wrote without characters that are not seen; our own HTML has its lines."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return printable(value)


def _day_of(day: date) -> str:
    """Write a day as people read it in every country."""
    return f"{day.day} {day:%b %Y}"
