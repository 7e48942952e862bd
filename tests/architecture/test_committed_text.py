import re
import shutil
import subprocess
from contextlib import suppress

import pytest

from .packages import ROOT

HOSTS = ("pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".org", "proxy.golang" + ".org", "deb.debian" + ".org")
MACHINE = re.compile(r"(?<![\w.*{}<>~-])/(?:home|root|Users|work|opt)/")
SIBLING = "../" + "shared"
MAY_NAME_SIBLING = {".ci/run"}
READ_BY_PEOPLE = ("cli/", "configs/", "docs/", "flows/", "proofsweep/", "sandbox/", "tasks/")
CLAIM = re.compile(
    r"\bAI[-\s]*free\b|\bfree\s+of\s+AI\b|\b(not|no|without|zero)\s+AI\b|\bhuman[-\s]made\b|\bmade\s+by\s+(a\s+)?humans?\b"
    r"|\b100\s*%\s*human\b|\bgenuinely\s+human\b",
    re.IGNORECASE,
)


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Every committed text file, by its path."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found: dict[str, str] = {}
    for path in filter(None, listed.split("\0")):
        with suppress(UnicodeDecodeError, FileNotFoundError):  # no text, or deleted and not committed yet
            found[path] = (ROOT / path).read_text(encoding="utf-8")
    return found


def test_no_file_names_a_registry(texts: dict[str, str]) -> None:
    """The machine that installs packages decides where they come from."""
    assert [(path, host) for path, text in texts.items() for host in HOSTS if host in text] == []


def test_no_file_names_a_folder_of_some_machine(texts: dict[str, str]) -> None:
    """A path of one machine does not exist on another."""
    assert [(path, found[0]) for path, text in texts.items() if (found := MACHINE.search(text))] == []


def test_only_ci_looks_beside_the_checkout(texts: dict[str, str]) -> None:
    """Everything is in the checkout; CI names what is beside it by a variable."""
    assert {path for path, text in texts.items() if SIBLING in text} <= MAY_NAME_SIBLING


def test_nothing_that_we_write_claims_more_than_the_contract(texts: dict[str, str]) -> None:
    """`valid` means that a process was recorded: no source, help text, message or page says how music was made."""
    pages = {path: text for path, text in texts.items() if path.startswith(READ_BY_PEOPLE) or path.endswith(".md")}

    assert [(path, found[0]) for path, text in pages.items() if (found := CLAIM.search(text))] == []
