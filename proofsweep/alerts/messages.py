"""An alert as a value, how text that others wrote becomes harmless in it, and which causes were sent when."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from proofsweep.alerts.events import EVENTS, AlertKind
from proofsweep.domain.text import printable

_LONGEST_TEXT = 300  # letters, whatever a catalog or the service writes
_MOST_LINES = 10  # of the list in a message

# Look-alikes: chat programs read the originals as a mention, a link or the end of the code span, each in its own way.
LOOK_ALIKES = {
    "<": "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}",
    ">": "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
    "&": "\N{FULLWIDTH AMPERSAND}",
    "@": "\N{FULLWIDTH COMMERCIAL AT}",
    "`": "\N{MODIFIER LETTER GRAVE ACCENT}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One message. It holds no secret, no proof ID, and foreign text only as `quoted` or `harmless` gives it."""

    kind: AlertKind | None  # None for a test message
    cause: str  # a cause that was sent is not sent again soon
    subject: str  # one line
    body: str  # lines of plain text, with code spans
    subjects: tuple[str, ...] = ()  # catalogs and flows that have a cause together; each can be over for itself

    @property
    def severity(self) -> str:
        return "warning" if self.kind is None else EVENTS[self.kind].severity

    def beside(self, other: "Alert") -> "Alert":
        """Return this alert for its own subjects, and those of another one with the same cause."""
        return replace(self, subjects=tuple(dict.fromkeys((*other.subjects, *self.subjects))))

    def with_page(self, url: str | None) -> "Alert":
        return self if url is None else replace(self, body=f"{self.body}\nSee: {url}")


def harmless(text: str) -> str:
    """Make foreign text one short line that no chat program reads as a mention, a link or the end of a code span."""
    line = printable(text)
    cut = line if len(line) <= _LONGEST_TEXT else line[: _LONGEST_TEXT - 1] + "…"
    return cut.translate({ord(letter): other for letter, other in LOOK_ALIKES.items()})


def quoted(text: str) -> str:
    """Make foreign text a code span, in which Markdown means nothing."""
    return f"`{harmless(text) or ' '}`"


def cause_of(kind: AlertKind, *parts: str) -> str:
    """Name a cause: its kind, then what distinguishes it, from the general to the special."""
    return "\t".join([kind, *(part.replace("\t", " ") for part in parts)])


def shortened(lines: list[str]) -> list[str]:
    left_out = len(lines) - _MOST_LINES
    return lines if left_out <= 0 else [*lines[:_MOST_LINES], f"- and {left_out:,} more"]


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    catalog: str | None = None
    machine: str | None = None  # that worked on it, or found it
    rows: int | None = None  # that are at risk
    results_url: str | None = None

    def line(self, environment: str) -> str:
        named = {"environment": environment, "catalog": self.catalog, "machine": self.machine}
        parts = [f"{word} {quoted(name)}" for word, name in named.items() if name is not None]
        parts += [] if self.rows is None else [f"{self.rows:,} {'row' if self.rows == 1 else 'rows'} at risk"]
        line = ", ".join(parts)
        return f"{line[0].upper()}{line[1:]}."


_NOTHING_MORE = About()


def made_alert(
    kind: AlertKind, environment: str, title: str, lines: Sequence[str], *cause: str, about: About = _NOTHING_MORE
) -> Alert:
    """Make a message; `cause` is what distinguishes its cause from others of its kind and environment."""
    event = EVENTS[kind]
    where = [] if about.results_url is None else [f"Tables: {quoted(about.results_url)}"]
    acts = [f"If nobody acts: {event.unattended}", f"To do: {event.advice}"]
    return Alert(
        kind=kind,
        cause=cause_of(kind, environment, *cause),
        subject=f"proofsweep: {title} ({harmless(environment)})",
        body="\n".join([*lines, about.line(environment), *acts, *where]),
    )


TEST_ALERT = Alert(
    kind=None,
    cause="",
    subject="proofsweep: a test message",
    body="Alerts of proofsweep arrive here. There is nothing to do.",
)
