"""The pages in a real browser: they need no network and no script, and hinder nobody."""

import json
import re
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from proofsweep.results import open_results
from proofsweep_cli.app import run

from ..worlds import five_nights
from ..worlds.core import results_at
from ..worlds.reported_store import fill

CHROMIUM = shutil.which("chromium")
AXE = Path(__file__).parents[1] / "servers/axe/node_modules/axe-core/axe.min.js"
PHONE = 390  # wide
QUIET = (
    "--no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update"
    " --disable-sync --allow-file-access-from-files"
)
LISTEN = """
window.errors = [];
addEventListener("error", event => errors.push(String(event.message || event.target.src)), true);
addEventListener("unhandledrejection", event => errors.push(String(event.reason)));
addEventListener("securitypolicyviolation", event => errors.push(event.violatedDirective + " " + event.blockedURI));
"""
ACT = """
const root = document.documentElement;
const cells = [...document.querySelectorAll("td, tbody th")];
const seen = {title: document.title, wide: root.scrollWidth, errors};
seen.files = [...document.querySelectorAll(".kind tbody tr")].map(row => row.cells[0].textContent);
seen.cut = cells.filter(each => each.scrollWidth > each.clientWidth + 1).map(each => each.textContent);
seen.styles = [...new Set(cells.map(each => getComputedStyle(each).textOverflow))];
"""
EXAMINE = """
for (const each of document.querySelectorAll("details")) each.open = true;
const {violations} = await axe.run(document, {resultTypes: ["violations"]});
const found = violations.map(each => each.id + ": " + each.nodes[0].html.slice(0, 200));
"""
COLLECT = """
const look = () => {
  const told = Array.from({length: frames.length}, (_, at) => frames[at].document.getElementById("told"));
  if (!told.every(Boolean)) return setTimeout(look, 50);
  document.getElementById("seen").textContent = "[" + told.map(each => each.textContent).join() + "]";
};
look();
"""
NEEDS_CHROMIUM = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
NEEDS_AXE = pytest.mark.skipif(
    CHROMIUM is None or not AXE.exists(), reason="needs axe-core: npm ci --ignore-scripts --prefix tests/servers/axe"
)


def pages_of(folder: Path) -> tuple[Path, Path]:
    """Write the catalog's page and a night's, as people do."""
    catalog, night = folder / "catalog.html", folder / "night.html"
    results = str(folder / "results")
    assert run(["report", "--file", str(catalog), "--results", results]) == 0
    assert run(["report", open_results(results).latest_run(), "--file", str(night), "--results", results]) == 0
    return catalog, night


def visited(pages: Iterable[Path], scripts: list[str], answer: str, *, is_dark: bool = False) -> list[Any]:
    """Open pages with further scripts, which their policy allows by their digests; give what the last one found."""
    tell = f"const told = document.createElement('pre'); told.id = 'told'; told.textContent = JSON.stringify({answer});"
    scripts = [*scripts[:-1], f"(async () => {{ {scripts[-1]} {tell} document.body.append(told); }})();"]
    allowed = " ".join(f"'sha256-{b64encode(sha256(each.encode()).digest()).decode()}'" for each in [LISTEN, *scripts])
    frames = ""
    for page in pages:
        text = page.read_text("utf-8").replace("default-src 'none'", f"default-src 'none'; script-src {allowed}", 1)
        text = text.replace("<style>", f"<script>{LISTEN}</script><style>", 1)
        text = text.replace("</body>", "".join(f"<script>{each}</script>" for each in scripts) + "</body>")
        inner = page.with_suffix(".inner.html")
        inner.write_text(text, "utf-8")
        # A window is never as narrow as a phone; a frame is. Its answer is read through the frame.
        frames += f'<iframe src="{inner.name}" style="width:{PHONE}px;height:800px;border:0"></iframe>'
    outer = inner.with_name("outer.html")
    outer.write_text(f'{frames}<pre id="seen"></pre><script>{COLLECT}</script>', "utf-8")
    schemes = ["--blink-settings=preferredColorScheme=0"] if is_dark else []
    dom = chromium(outer, *schemes, "--window-size=1280,900", "--virtual-time-budget=60000", "--dump-dom")
    seen = re.search(r'<pre id="seen">(.+?)</pre>', dom, re.DOTALL)
    assert seen is not None, dom[-2000:]
    return list(json.loads(unescape(seen[1])))


def chromium(page: Path, *options: str) -> str:
    """Open a page in a browser without a window; give what it prints."""
    command = [str(CHROMIUM), "--headless", *QUIET.split(), f"--user-data-dir={page.parent / 'home'}", *options]
    return subprocess.run([*command, page.as_uri()], check=True, capture_output=True, text=True, timeout=180).stdout


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The pages of a store with hostile names."""
    folder = tmp_path_factory.mktemp("hostile")
    fill(results_at(folder / "results"))
    return pages_of(folder)


def test_the_pages_are_small_and_name_no_other_place(hostile: tuple[Path, Path]) -> None:
    """All that they need is inside, and their policy allows no connection."""
    for page in hostile:
        text = page.read_text(encoding="utf-8")

        assert len(text) < 200_000
        assert "default-src 'none'" in text
        assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=[\"']?(https?:)?//", text)


@NEEDS_CHROMIUM
def test_the_pages_work_on_a_phone(hostile: tuple[Path, Path]) -> None:
    """No error in the console, no foreign title, nothing wider than the screen."""
    titles = ("3 of 6 files accepted", "3 of 6 accepted")
    for seen, title in zip(visited(hostile, [ACT], "seen"), titles, strict=True):
        assert seen["errors"] == []
        assert seen["title"].startswith(title)
        assert seen["wide"] <= PHONE
        assert len(seen["files"]) == 2
        assert "/c/4" in seen["files"]


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store of five large nights."""
    folder = tmp_path_factory.mktemp("nights")
    five_nights.fill(results_at(folder / "results"))
    return folder


@NEEDS_AXE
def test_the_pages_hinder_nobody(five: Path) -> None:
    """No finding of axe-core, in light and in dark; on a phone no name is cut."""
    pages, scripts = pages_of(five), [AXE.read_text("utf-8"), ACT + EXAMINE]
    for is_dark in (False, True):
        for told in visited(pages, scripts, "{found, seen}", is_dark=is_dark):
            found, seen = told["found"], told["seen"]
            assert (found, seen["errors"]) == ([], [])
            assert (seen["wide"] <= PHONE, seen["cut"], seen["styles"]) == (True, [], ["clip"])


@NEEDS_CHROMIUM
def test_a_hundred_files_fit_on_eight_printed_pages(five: Path) -> None:
    """With trend, suppliers and labels, and the lists that are folded on a screen: without these it takes three."""
    page, printed = five / "printed.html", five / "catalog.pdf"
    by = ["--by", "supplier", "--by", "label"]
    assert run(["report", *by, "--file", str(page), "--results", str(five / "results")]) == 0

    chromium(page, f"--print-to-pdf={printed}")

    assert 4 < len(re.findall(rb"/Type\s*/Page\b", printed.read_bytes())) <= 8
