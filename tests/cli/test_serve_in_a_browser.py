"""The live pages in a real browser: a run is seen to go on, and is stopped there; nothing foreign runs."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from proofsweep.model.layout import stop_name
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results

from ..servers.chromium import CHROMIUM, Tab, chromium
from ..unit.answers.report.reported_store import HOSTILE, PLAN, fill
from ..unit.answers.serve.conftest import TOKEN, beat, begin

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")

PHONE = 390


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Tab]]:
    """One browser for all tests."""
    with chromium(tmp_path_factory.mktemp("chromium") / "home") as open_tab:
        yield open_tab


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Two nights with hostile names."""
    return fill(Results(FolderStore(tmp_path / "results")))


@contextmanager
def served(results: Results, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run `proofsweep serve` in its own process; yield its address."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "proofsweep_cli", "serve", "--port", "0", "--results", results.store.url, *options]
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, env=env, **quiet) as process:  # type: ignore[call-overload]
        try:
            assert process.stdout is not None
            address = re.search(r"http://\S+", process.stdout.readline())
            assert address is not None
            yield address[0], process
        finally:
            process.kill()


def test_a_run_goes_on_before_ones_eyes_and_is_stopped(
    tab: Callable[..., Tab], results: Results, tmp_path: Path
) -> None:
    """On a phone in the dark: the figures change by themselves; a question and the token come before the stop."""
    plan = begin(results, HOSTILE)
    (tmp_path / "token").write_text(TOKEN)
    with served(results, "--token-file", str(tmp_path / "token")) as (url, _):
        phone = tab(PHONE, is_dark=True)
        phone.visit(f"{url}/runs")
        phone.wait_for("document.querySelector('[data-run]').innerText.includes('7 of 20 files')")
        phone.value("window.isSame = true")
        beat(results, plan, 8)
        phone.wait_for("document.querySelector('[data-run]').innerText.includes('8 of 20 files')")
        assert phone.value("window.isSame")
        assert phone.value("document.documentElement.scrollWidth") <= PHONE

        phone.click("a.button")
        phone.value(f"document.querySelector('[name=token]').value = '{TOKEN}'")
        phone.click("button[type=submit]")
        assert "Stop this run?" in phone.value("document.body.innerText")
        phone.click("button[type=submit]")
        assert "was asked to stop" in phone.value("document.body.innerText")
        claim = Legs(results, plan.run_id).holder(1)
        assert claim is not None
        assert results.store.read(stop_name(plan.run_id, 1, claim.token)) is not None

        phone.visit(f"{url}/runs/{plan.run_id}")
        assert "This run is active" in phone.value("document.body.innerText")
        counts = {"accepted": 8, "remaining": 12, "run_id": plan.run_id, "leg": 1}
        Legs(results, plan.run_id).write_receipt(1, {"ended_by": "cancelled", "counts": counts})
        phone.wait_for("document.body.innerText.includes('Stopped on request')")
        assert phone.value("document.cookie") == ""
        assert phone.value("document.title") != "hacked"
        assert phone.errors() == []


def test_without_a_token_there_is_no_button_and_every_page_keeps_its_policy(
    tab: Callable[..., Tab], results: Results
) -> None:
    """Each page is read in a light and wide window; none runs what a supplier named his file."""
    plan = begin(results)
    with served(results) as (url, _):
        window = tab()
        for path in ("/", "/runs", f"/runs/{plan.run_id}", f"/runs/{PLAN.run_id}", f"/runs/{plan.run_id}/night"):
            window.visit(f"{url}{path}")
            assert window.value("document.querySelectorAll('h1').length") == 1, path
            assert window.value("document.querySelectorAll('.button, form[method=post]').length") == 0, path
            assert window.value("document.title") != "hacked", path
        window.visit(f"{url}/files")
        window.value("document.querySelector('[name=words]').value = 'r-3'")
        window.click("form button")
        assert window.value("document.querySelector('h1').textContent").startswith("/c/<script>")
        assert window.value("document.querySelectorAll('.button, form[method=post]').length") == 0
        assert window.value("document.title") != "hacked"
        assert window.errors() == []


def test_ctrl_c_ends_the_server_while_browsers_look(tab: Callable[..., Tab], results: Results) -> None:
    """At once, with exit code 0 and nothing on stderr; the page says that nobody answers."""
    with served(results) as (url, process):
        window = tab()
        window.visit(f"{url}/runs")
        window.wait_for("!!document.getElementById('trouble')")

        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)

        assert (process.returncode, err) == (0, "")
        assert "The server has ended." in out
        window.wait_for("document.getElementById('trouble').textContent.includes('does not answer')")
