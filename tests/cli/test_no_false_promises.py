"""`valid` means that a process was recorded (contract). No text of ours claims more."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("cli", "configs", "docs", "flows", "proofsweep", "sandbox", "tasks")
CLAIM = re.compile(
    r"\bAI[-\s]*free\b|\bfree\s+of\s+AI\b|\b(not|no|without|zero)\s+AI\b|\bhuman[-\s]made\b|\bmade\s+by\s+(a\s+)?humans?\b"
    r"|\b100\s*%\s*human\b|\bgenuinely\s+human\b",
    re.IGNORECASE,
)


def pages() -> list[Path]:
    """List everything that a person may read: sources with their messages and help texts, docs, profiles."""
    named = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    return [path for path in [*ROOT.glob("*.md"), *named] if path.suffix in {".md", ".py", ".toml", ".html"}]


def test_nothing_that_we_write_claims_more_than_the_contract() -> None:
    """No source, help text, message or page says that music is free of anything, or made by anyone."""
    claims = [f"{page.relative_to(ROOT)}: {found[0]}" for page in pages() if (found := CLAIM.search(page.read_text()))]

    assert claims == []
