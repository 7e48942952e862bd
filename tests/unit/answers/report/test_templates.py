"""What others wrote is text on a page."""

from proofsweep.answers.report.templates import template


def test_both_pages_have_the_same_styles() -> None:
    """The styles are text of ours, and need no escapes."""
    page, _ = template("page.html.jinja"), template("evidence.html.jinja")

    styles = template("style.css").render()
    assert "@media print" in styles
    assert "&#" not in styles
    assert page.environment.autoescape is True


def test_a_value_is_escaped_and_stays_on_its_line() -> None:
    """Markup, and characters that are not seen."""
    environment = template("style.css").environment

    assert environment.from_string("{{ value }}").render(value="<b>\u202e\n") == "&lt;b&gt;\\u202e\\n"
