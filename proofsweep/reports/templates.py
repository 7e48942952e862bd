"""Open a template of a page; whatever it is filled with is shown as text."""

from base64 import b64encode
from datetime import date
from functools import cache
from hashlib import sha256
from pathlib import Path

import jinja2
from markupsafe import Markup

from proofsweep import __version__
from proofsweep.domain.text import duration_text, minute_of, printable
from proofsweep.domain.verdicts import MEANING_OF_VALID

_FOLDER = Path(__file__).parent


def template(name: str) -> jinja2.Template:
    return _environment().get_template(name)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_on_one_line,
    )
    script = (_FOLDER / "page.js").read_text(encoding="utf-8")
    # The page's policy names its only script by this digest, so that no other one runs, whatever else goes wrong.
    digest = b64encode(sha256(script.encode()).digest()).decode()
    environment.globals |= {
        "script": Markup(script),  # noqa: S704 - our own file
        "script_digest": digest,
        "style": Markup((_FOLDER / "style.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        "meaning": MEANING_OF_VALID,
        "version": __version__,
    }
    environment.filters |= {"number": "{:,}".format, "percent": percent_of, "minute": minute_of, "day": day_of}
    environment.filters["duration"] = duration_text
    return environment


def _on_one_line(value: object) -> object:
    """Write what others wrote without characters that are not seen; our own HTML has its lines."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def percent_of(part: int, whole: int) -> str:
    """Write a share in percent with one decimal, rounded down: 100 means all."""
    tenths = 1_000 * part // whole if whole else 0
    return "100" if tenths == 1_000 else f"{tenths / 10:.1f}"  # noqa: PLR2004 - all


def day_of(instant: date | None) -> str:
    """Write a day, or the UTC day of an instant, as people read it in every country; nothing if it is not known."""
    return "" if instant is None else f"{instant.day} {instant:%b %Y}"
