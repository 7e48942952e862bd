"""Open a template of a page; whatever it is filled with is shown as text."""

from pathlib import Path

import jinja2
from markupsafe import Markup

from proofsweep.contract.verdicts import MEANING_OF_VALID
from proofsweep.model.evidence import Contents
from proofsweep.text import duration_text, minute_of, printable


def template(name: str) -> jinja2.Template:
    """Open a template that lies beside this module."""
    folder = Path(__file__).parent
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, folder.parent / "serve"]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_on_one_line,
    )
    environment.filters |= {"number": "{:,}".format, "minute": minute_of, "duration": duration_text}
    return environment.get_template(name)


def _on_one_line(value: object) -> object:
    """Write what others wrote without characters that are not seen; our own HTML has its lines."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def evidence_page(contents: Contents) -> str:
    """Write the page."""
    return template("evidence.html.jinja").render(contents=contents, meaning=MEANING_OF_VALID)
