"""What a partner's CI needs of `proofsweep conformance`: a report file, exit codes, a budget of calls."""

import json
from pathlib import Path
from xml.etree.ElementTree import Element, parse

import pytest

import proofsweep_sandbox as sandbox
from proofsweep_cli.app import run

from ..mutants.operator import MutantOperator
from .conftest import Command
from .test_command import CHEAP

KEYS_FIELDS = "resources-keys-record-fields"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """The file of the report, in a folder that exists."""
    return tmp_path / "report.xml"


def cases(report: Path) -> dict[str | None, Element]:
    """Read the test cases of a report by name."""
    return {case.get("name"): case for case in parse(report).iter("testcase")}  # noqa: S314 - our own file


def test_the_report_has_a_case_for_each_check(
    conformance: Command,
    operator: MutantOperator,
    report: Path,
) -> None:
    """Failed with its finding and request IDs, without an answer, without an input, and passed."""
    operator.set_mutant("resources-health-fields")
    operator.add_fault("keys", "status", status=500)
    names = ["resources-health-fields", KEYS_FIELDS, "resources-grade-members", CHEAP[1]]

    only = [word for name in (*names[:2], names[3]) for word in ("--only", name)]
    code, out, _ = conformance("--junit", str(report), *only, "--only", "resources-grade-mem*")
    operator.clear_faults()

    found = cases(report)
    failure, error, skipped = (found[name][0] for name in names[:3])
    assert code == 3
    assert (failure.tag, failure.get("message")) == ("failure", "ok is a string, not a boolean")
    assert "request ID" in (failure.text or "")
    assert (error.tag, skipped.tag, skipped.get("message")) == ("error", "skipped", "needs --one-file")
    assert len(found[names[3]]) == 0
    places = [out.index(word) for word in ("\nfailed", "\nnot tried", "\npassed")]
    assert places == sorted(places)


def test_a_control_character_in_a_request_id_reaches_no_report(
    conformance: Command,
    operator: MutantOperator,
    report: Path,
) -> None:
    """It would steer a terminal, and XML forbids it; it is written as an escape."""
    operator.set_mutant("resources-health-fields")
    operator.add_fault("health", "headers", headers={"X-Request-Id": "r\x1b[31m\x85d"})

    _, out, _ = conformance("--only", "resources-health-fields", "--junit", str(report))
    operator.clear_faults()

    assert "\x1b" not in out
    assert "r\\x1b[31m" in out
    assert "r\\x1b[31m" in (cases(report)["resources-health-fields"][0].text or "")


@pytest.mark.parametrize(("arguments", "code"), [([], 0), (["--strict"], 10)])
def test_strict_wants_every_check_tried(conformance: Command, arguments: list[str], code: int) -> None:
    """Exit code 10 says that nothing failed and something was not tried."""
    assert conformance(*CHEAP, "--only", "resources-grade-mem*", *arguments)[0] == code


def test_no_more_calls_than_the_budget(conformance: Command, operator: MutantOperator) -> None:
    """The budget is stated before the first call; what it does not allow is not tried."""
    before = len(operator.exchanges())

    code, out, err = conformance("--max-calls", "12", "--json")

    told = json.loads(out)
    charged = [each for each in operator.exchanges()[before:] if each["charged"]]
    assert (code, told["failed"]) == (0, 0)
    assert "at most 12 keyed calls" in err
    assert told["keyed_calls"] == 12
    assert len(charged) <= 12
    assert sum(each["said"] == "the budget of 12 keyed calls is spent" for each in told["checks"]) > 10


def test_a_report_that_cannot_be_written_is_told_before_the_first_call(
    operator: MutantOperator,
    key_file: Path,
    running: sandbox.Running,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit code 2 and one line."""
    before = len(operator.exchanges())
    place = ["--base-url", running.base_url, "--key-file", str(key_file)]

    code = run(["conformance", *place, "--junit", str(tmp_path / "no" / "report.xml")])

    err = capsys.readouterr().err
    assert (code, err.count("\n")) == (2, 1)
    assert "report.xml cannot be written" in err
    assert len(operator.exchanges()) == before
