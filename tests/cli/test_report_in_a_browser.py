"""The report in a real browser: it needs no network, sorts, filters, changes its theme, and runs no foreign markup."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cli.app import run
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results

from ..unit.answers.report.reported_store import PLAN, fill

CHROMIUM = shutil.which("chromium")
QUIET = (
    "--no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update"
    " --disable-sync"
)
VISIT = """
<script>
window.errors = [];
addEventListener("error", event => errors.push(String(event.message || event.target.src)), true);
addEventListener("unhandledrejection", event => errors.push(String(event.reason)));
addEventListener("securitypolicyviolation", event => errors.push(event.violatedDirective + " " + event.blockedURI));
</script>
"""
ACT = """
<script type="module">
const files = () => [...document.querySelectorAll("#attention tbody tr")].map(row => row.cells[0].textContent);
const wait = async holds => { while (!holds()) await new Promise(done => setTimeout(done, 20)); };
await wait(() => files().length === 2 && document.querySelector(".dt-search input"));
const seen = {all: files()};
document.querySelector("#attention thead th .dt-column-order, #attention thead th")?.click();
const search = document.querySelector(".dt-search input");
search.value = "timeout"; search.dispatchEvent(new Event("input", {bubbles: true}));
search.dispatchEvent(new Event("keyup", {bubbles: true}));
await wait(() => files().length === 1);
seen.filtered = files();
seen.before = document.documentElement.dataset.theme;
document.getElementById("theme").click();
seen.after = document.documentElement.dataset.theme;
seen.background = getComputedStyle(document.body).backgroundColor;
await wait(() => document.querySelector("#attention thead [aria-label='sort by file']"));
seen.labels = [...document.querySelectorAll("#attention thead [aria-label]")].map(each => each.ariaLabel);
search.value = ""; search.dispatchEvent(new Event("input", {bubbles: true}));
search.dispatchEvent(new Event("keyup", {bubbles: true}));
await wait(() => files().length === 2);
document.documentElement.dataset.theme === "dark" || document.getElementById("theme").click();
dispatchEvent(new Event("beforeprint"));
seen.printed = {theme: document.documentElement.dataset.theme, files: files().length,
    names: [...document.querySelectorAll("#attention .printed")].map(each => each.textContent),
    folded: document.querySelectorAll("details:not([open])").length};
dispatchEvent(new Event("afterprint"));
seen.restored = [document.documentElement.dataset.theme, document.querySelectorAll("#attention .printed").length];
seen.errors = errors; seen.title = document.title; seen.wide = document.body.scrollWidth;
const told = document.createElement("pre"); told.id = "seen"; told.textContent = JSON.stringify(seen);
document.body.append(told);
</script>
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """The report of a run with hostile names."""
    results = fill(Results(FolderStore(tmp_path / "results")))
    path = tmp_path / "report.html"
    assert run(["report", "--file", str(path), "--results", results.store.url]) == 0
    return path


def test_the_page_is_small_and_names_no_other_place(page: Path) -> None:
    """Its library is inside; addresses in it are names or help, and its policy allows no connection."""
    text = page.read_text(encoding="utf-8")

    assert len(text) < 1_500_000
    assert "default-src 'none'" in text
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=[\"']?(https?:)?//", text)


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_the_page_works_in_a_browser(page: Path, tmp_path: Path) -> None:
    """No error in the console, no foreign title; table and theme do what controls say; paper is light and whole."""
    text = page.read_text(encoding="utf-8")
    visited = tmp_path / "visited.html"
    visited.write_text(text.replace("<style>", VISIT + "<style>", 1).replace("</body>", ACT + "</body>"), "utf-8")
    command = [str(CHROMIUM), "--headless", *QUIET.split(), f"--user-data-dir={tmp_path / 'home'}"]
    command += ["--window-size=390,800", "--virtual-time-budget=20000", "--dump-dom", visited.as_uri()]

    dom = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout

    told = re.search(r'<pre id="seen">(.*?)</pre>', dom, re.DOTALL)
    assert told is not None, dom[-2000:]
    seen = json.loads(told[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert seen["errors"] == []
    assert seen["title"].startswith("3 of 6 accepted")
    assert (len(seen["all"]), seen["filtered"]) == (2, ["/c/4"])
    assert {seen["before"], seen["after"]} == {"light", "dark"}
    assert {"sort by file", "only where file contains"} <= set(seen["labels"])
    assert (seen["printed"]["theme"], seen["printed"]["files"], seen["printed"]["folded"]) == ("light", 2, 0)
    assert seen["printed"]["names"][:2] == ["file", "outcome"]
    assert seen["restored"] == ["dark", 0]


def test_a_run_that_is_not_there_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is written."""
    fill(Results(FolderStore(tmp_path / "results")))

    assert run(["report", "nothing", "--file", str(tmp_path / "x.html"), "--results", str(tmp_path / "results")]) == 2

    assert "There is no run 'nothing'" in capsys.readouterr().err
    assert not (tmp_path / "x.html").exists()
    assert PLAN.run_id
