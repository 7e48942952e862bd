"""The guides say what happens: each of their commands runs as it stands, in one folder, and prints what they show."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import proofsweep_sandbox as sandbox
from proofsweep_cli.app import run

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = ("first-night", "operators", "analysts")
LEFT_OUT = "…"
EXIT_CODE = re.compile(r"\s+# exit code (\d)$")
# What differs from run to run: names of runs, times, digests and IDs, sizes of pages, milliseconds, places.
VARIABLE = re.compile(
    r"\d{8}T\d{6}Z_\w+|\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?|\b\d\d:\d\d:\d\d\b|[0-9a-fA-F]{8}-[0-9a-f-]{27}"
    r"|\b[0-9A-Fa-f]{12,64}\b|[\d,]+ calls left|\b[\d.]+ (ms|s|kB|MB|[KM]iB sent)\b|http://127\.0\.0\.1:\d+| +"
)


@dataclass(frozen=True)
class Step:
    """A command of a guide, with the exit code and the lines that the guide shows."""

    command: str
    code: int
    lines: list[str]


def steps(guide: str) -> Iterator[Step]:
    text = (DOCS / f"{guide}.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.splitlines()
            code = EXIT_CODE.search(command)
            yield Step(EXIT_CODE.sub("", command), int(code[1]) if code else 0, lines)


def stable(line: str, folder: str) -> str:
    """Write a line without what differs from run to run."""
    return VARIABLE.sub(lambda found: " " if found[0].isspace() else "~", line.replace(folder, "/data")).strip()


def missing_lines(step: Step, said: str, folder: str) -> list[str]:
    """Return the lines that a guide shows and the command did not print, in their order; only `…` leaves lines out."""
    printed = [stable(line, folder) for line in said.splitlines()]
    missing, place, may_skip = [], 0, False
    for line in step.lines:
        if line == LEFT_OUT:
            may_skip = True
            continue
        wanted, is_cut = stable(line.removesuffix(LEFT_OUT), folder), line.endswith(LEFT_OUT)
        rest = printed[place:] if may_skip else printed[place : place + 1]
        found = next(
            (at for at, each in enumerate(rest) if each == wanted or (is_cut and each.startswith(wanted))), None
        )
        if found is None:
            missing.append(line)
        else:
            place, may_skip = place + found + 1, False
    return missing if may_skip or place == len(printed) or missing or not step.lines else [f"more: {printed[place]}"]


def test_the_first_two_need_no_sql() -> None:
    """An engineer and an operator get their answers from commands."""
    assert [
        guide
        for guide in GUIDES[:2]
        if re.search(r"\bSELECT\b|```sql|proofsweep query", (DOCS / f"{guide}.md").read_text())
    ] == []


@pytest.mark.usefixtures("without_prefect")
@pytest.mark.parametrize("guide", GUIDES)
def test_every_command_of_a_guide_does_what_it_says(
    guide: str,
    workdir: Path,
    running: sandbox.Running,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One after the other, in one folder, as a reader does."""
    monkeypatch.setenv("COLUMNS", "160")
    for step in steps(guide):
        if step.command.startswith("proofsweep "):
            words = shlex.split(step.command)[1:]
            if words[:1] == ["sandbox"]:
                words += ["--operator", running.operator_url]
            capsys.readouterr()
            code = run(words)
            said = "".join(capsys.readouterr())
        else:
            done = subprocess.run(step.command, shell=True, check=False, capture_output=True, text=True)  # noqa: S602
            code, said = done.returncode, done.stdout + done.stderr
        assert (step.command, code) == (step.command, step.code), said
        assert missing_lines(step, said, str(workdir)) == [], said
