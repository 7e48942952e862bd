"""The pages lead somewhere, and use none of the words that were replaced."""

import re
from pathlib import Path

import pytest

from .packages import PACKAGES, ROOT, modules_of

DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]

LINK = re.compile(r"\[[^]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
NAMED_PATH = re.compile(r"`((?:proofsweep|cli|flows|tasks|sandbox|configs|tests|docs)/[\w/.]*)`")
NAMED_IN_CODE = re.compile(r"`([a-z]+(?:_[a-z]+)+|_?[A-Z]+(?:_[A-Z]+)*|[A-Z][a-z]+(?:[A-Z][a-z]+)*)`")
REPLACED = re.compile(
    r"\b(desk|sitting|pulse|allowance|tally|tallie|glance|passed over|volley|testimony|witness|storm)(e?s)?\b",
    re.IGNORECASE,
)


def prose_of(page: Path) -> str:
    """Return a page's text without its code; each line keeps its number."""
    return CODE.sub(lambda code: "\n" * code[0].count("\n"), page.read_text(encoding="utf-8"))


def anchors_of(page: Path) -> set[str]:
    """Return the anchors that GitHub makes of a page's headings."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def leads_nowhere(page: Path, target: str) -> bool:
    """Return whether a link inside the checkout has no file or no heading at its end."""
    path, _, anchor = target.partition("#")
    aim = (page.parent / path).resolve() if path else page
    return not aim.exists() or (anchor != "" and anchor not in anchors_of(aim))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    """A link names a file and a heading that exist; other sites are not asked."""
    inside = [target for target in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in target]

    assert [target for target in inside if leads_nowhere(page, target)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_uses_a_word_that_was_replaced(page: Path) -> None:
    """Readers from every country know the standard word; names in code, such as settings, are promised and stay."""
    lines = enumerate(prose_of(page).splitlines(), start=1)

    assert [(number, found[0]) for number, line in lines for found in REPLACED.finditer(line)] == []


def test_what_contributing_names_is_in_the_code() -> None:
    """A path or a name that moved takes its page with it."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    code = "\n".join(file.read_text(encoding="utf-8") for file in modules_of(*PACKAGES, "docs"))

    assert [path for path in NAMED_PATH.findall(page) if not (ROOT / path).exists()] == []
    assert [name for name in NAMED_IN_CODE.findall(page) if not re.search(rf"\b{name}\b", code)] == []


RECIPES = re.findall(r"^## ((?:Add|Change) .+)\n((?:(?!## ).*\n)+)", PAGES[1].read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize("recipe", [body for _, body in RECIPES], ids=[title for title, _ in RECIPES])
def test_what_a_recipe_names_is_in_the_files_that_it_names(recipe: str) -> None:
    """A name that exists elsewhere too does not tell a newcomer where to write."""
    words = re.findall(r"`([^`]+)`", recipe)
    files = [ROOT / word for word in words if re.fullmatch(r"[\w.-]+/[\w/.-]+", word)]
    names = [word for word in words if re.fullmatch(r"[A-Za-z_][\w.]*", word)]

    assert [file for file in files if not file.exists()] == []
    there = "\n".join(file.read_text("utf-8") for file in files if file.is_file())
    assert [name for name in names if not re.search(rf"\b{name.rpartition('.')[2]}\b", there)] == []


def test_each_alert_is_on_its_page() -> None:
    """Each once: what it means, what happens without a person, and what to do."""
    from proofsweep.alerts.rules import EVENTS  # noqa: PLC0415 - only this test needs the code

    sections = (ROOT / "docs" / "alerts.md").read_text(encoding="utf-8").split("\n## `")[1:]
    found = {name: body for name, _, body in (section.partition("`\n") for section in sections)}

    assert len(sections) == len(found)
    assert found.keys() == {str(kind) for kind in EVENTS}
    said = ("**It means**", "**Without you**", "**To do**")
    assert [name for name, body in found.items() if not all(words in body for words in said)] == []
