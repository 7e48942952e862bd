"""What others wrote is text on a page."""

from base64 import b64encode
from hashlib import sha256

import pytest

from proofsweep.reports.pages import jinja_environment, percent_of


def test_all_pages_have_the_same_styles_and_one_script() -> None:
    """They are text of ours, and need no escapes; the policy names the script by its digest."""
    environment = jinja_environment()

    style, script = str(environment.globals["style"]), str(environment.globals["script"])
    page = environment.from_string("{{ style }}<script>{{ script }}</script>").render()
    assert page == f"{style}<script>{script}</script>"
    assert "@media print" in style
    assert environment.globals["script_digest"] == b64encode(sha256(script.encode()).digest()).decode()
    assert environment.autoescape is True


def test_a_value_is_escaped_and_stays_on_its_line() -> None:
    """Markup, and characters that are not seen."""
    environment = jinja_environment()

    assert environment.from_string("{{ value }}").render(value="<b>\u202e\n") == "&lt;b&gt;\\u202e\\n"


@pytest.mark.parametrize(
    ("part", "whole", "says"), [(0, 0, "0.0"), (999_999, 1_000_000, "99.9"), (3, 3, "100"), (1, 3, "33.3")]
)
def test_a_share_is_rounded_down(part: int, whole: int, says: str) -> None:
    """One hundred percent means all."""
    assert percent_of(part, whole) == says
