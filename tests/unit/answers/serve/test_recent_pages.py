"""Many readers of a page cost as much as one."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from proofsweep.answers.serve.recent_pages import RecentPages

RUN = ("run", "state")


def test_a_page_is_made_once_for_all_who_ask_meanwhile() -> None:
    """They wait for it."""
    pages, numbers, begun, go = RecentPages(), count(1), threading.Event(), threading.Event()

    def make() -> str:
        begun.set()
        assert go.wait(10)
        return str(next(numbers))

    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(pages.page, RUN, make) for _ in range(4)]
        assert begun.wait(10)
        go.set()
        assert [each.result() for each in asked] == ["1"] * 4


def test_a_page_is_made_anew_when_it_is_old() -> None:
    """A redaction or another night shows soon."""
    now, numbers = [0.0], count(1)
    pages = RecentPages(lambda: now[0])

    def ask(at: float) -> str:
        now[0] = at
        return pages.page(RUN, lambda: str(next(numbers)))

    assert [ask(0.0), ask(59.9), ask(60.1)] == ["1", "1", "2"]
    assert pages.page(("run", "another state"), lambda: "new") == "new"


def test_an_error_is_not_kept() -> None:
    """The next reader may have more luck."""
    pages = RecentPages()

    def fail() -> str:
        raise ValueError("away")

    with pytest.raises(ValueError, match="away"):
        pages.page(RUN, fail)

    assert pages.page(RUN, lambda: "well") == "well"


def test_few_pages_are_kept() -> None:
    """The one that nobody asked for longest goes."""
    pages = RecentPages(lambda: 0.0)
    for number in range(16):
        pages.page((str(number),), lambda: "old")
    pages.page(("0",), lambda: "new")
    pages.page(("more",), lambda: "old")

    assert [pages.page((name,), lambda: "new") for name in ("0", "2", "1")] == ["old", "old", "new"]
