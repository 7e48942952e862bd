"""The site in a real browser, from a folder without a server: any file is found, and no foreign markup runs."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results
from proofsweep_cli.app import run

from ..unit.ended_runs import answered, end_leg, plan_of_run
from .test_report_in_a_browser import CHROMIUM, QUIET

BEFORE, PLAN = (plan_of_run(f"202611{day}T020000Z_000aa", items=3, catalog="/c") for day in (19, 20))
HOSTILE = "/c/</script><img src=x onerror=\"document.title='hacked'\">\u2028\u202e'&.wav"
VISIT = """
window.errors = [];
addEventListener("error", event => errors.push(String(event.message || event.target.src)), true);
addEventListener("unhandledrejection", event => errors.push(String(event.reason)));
addEventListener("securitypolicyviolation", event => errors.push(event.violatedDirective + " " + event.blockedURI));
"""
ACT = """
addEventListener("load", async () => {
  const status = document.getElementById("found"), seen = {start: status.textContent, found: {}};
  const look = async words => {
    document.getElementById("words").value = words;
    status.textContent = "";
    document.querySelector("#look-up button").click();
    while (!/file|Type|many/.test(status.textContent)) await new Promise(done => setTimeout(done, 20));
    return [...document.querySelectorAll("article")].map(each => each.innerText);
  };
  for (const words of ["QZAB12600001", "qz-ab1-26-00001", "löve summ", "hacked", "nothing at all", "constructor", "!"])
    seen.found[words] = await look(words);
  await look("two");
  seen.links = [...document.querySelectorAll("article a")].map(each => each.getAttribute("href"));
  seen.images = document.images.length; seen.errors = errors; seen.title = document.title; seen.url = location.search;
  const told = document.createElement("pre"); told.id = "seen"; told.textContent = JSON.stringify(seen);
  document.body.append(told);
});
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The site of two nights: one file was rejected in the second."""
    results = Results(FolderStore(tmp_path / "results"))
    song = {
        "tags": '{"isrc": "QZ-AB1-26-00001", "title": "Summer L\\u00d6ve", "constructor": "<b>"}',
        "proof_id": "p-1",
    }
    bad = {"verdict": "tampered", "reason": "tampered", "verify_request_id": "r-2"}
    for plan, rejected in ((BEFORE, {}), (PLAN, bad)):
        outcome = "rejected" if rejected else "accepted"
        rows = [answered(plan, 0, "0", audio=HOSTILE), answered(plan, 1, "1", **song)]
        end_leg(results, plan, [*rows, answered(plan, 2, "track-two", outcome, **rejected)])
    assert run(["report", "--site", str(tmp_path / "site"), "--results", results.store.url]) == 0
    return tmp_path / "site"


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_any_file_is_found_without_a_server(site: Path, tmp_path: Path) -> None:
    """By its ISRC, however that is written, or by the beginnings of words; all that others wrote is text."""
    text = (site / "lookup.html").read_text("utf-8")
    (site / "visit.js").write_text(VISIT, "utf-8")
    (site / "act.js").write_text(ACT, "utf-8")
    scripts = '<script src="visit.js"></script><script src="act.js"></script>'
    (site / "visited.html").write_text(text.replace("<title>", f"{scripts}<title>"), "utf-8")
    command = [str(CHROMIUM), "--headless", *QUIET.split(), f"--user-data-dir={tmp_path / 'home'}"]
    command += ["--virtual-time-budget=20000", "--dump-dom", (site / "visited.html").as_uri()]

    dom = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout

    told = re.search(r'<pre id="seen">(.*?)</pre>', dom, re.DOTALL)
    assert told is not None, dom[-2000:]
    seen = json.loads(told[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    found = seen["found"]
    assert seen["errors"] == []
    assert seen["start"].startswith("3 files")
    assert [len(found[words]) for words in found] == [1, 1, 1, 1, 0, 0, 0]
    assert all(part in found["QZAB12600001"][0] for part in ("Accepted", "p-1", "Summer LÖve", "2026-11-19"))
    assert "\\u{2028}\\u{202e}" in found["hacked"][0]
    assert seen["links"] == [f"nights/{plan.run_id}.html" for plan in (PLAN, BEFORE)]
    assert (seen["images"], seen["title"], seen["url"]) == (0, "Find a file", "")
