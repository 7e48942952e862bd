"""Print the checks, the contract's sentences and the results, as text or as one JSON object."""

import json
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress

import typer

from partner_conformance.definition import Check, Risk
from partner_conformance.inputs import Inputs
from partner_conformance.results import ADVICE, FAILED, NOT_TRIED, PASSED, Result, printable
from partner_conformance.sentences import SENTENCES, Coverage

CONTRACT = "2.4.2"
RESULTS = (FAILED, ADVICE, NOT_TRIED, PASSED)
"""The order in which results are shown."""
_COLOURS = {FAILED: "red", ADVICE: "cyan", NOT_TRIED: "yellow", PASSED: "green"}
# Bounds the height of a row. Chosen: half hides the calls of short checks, twice fills the screen; `--json` has all.
_MAX_REQUEST_IDS = 4
_INDENT = 11


def print_checks(checks: Iterable[Check], *, as_json: bool) -> None:
    """List checks: the sentence, needs, calls and risk of each."""
    if as_json:
        _print_json({"contract": CONTRACT, "checks": [_json_of_check(each) for each in checks]})
        return
    for each in checks:
        needs = ", ".join(Inputs.option(name) for name in each.needs)
        named = "" if each.risk is Risk.NONE else f"only when named: it {each.risk}"
        _print_row(f"{each.calls} calls", [each.name, each.sentence, needs and f"needs {needs}", named])


def print_coverage(*, as_json: bool) -> None:
    """List every sentence of the contract with its checks, or with the reason why there is none."""
    if as_json:
        listed = [
            {"section": s.section, "sentence": s.text, "checks": s.checks, "why_not": s.why_not or None}
            for s in SENTENCES
        ]
        _print_json({"contract": CONTRACT, "sentences": listed})
        return
    for each in SENTENCES:
        lines = [each.text, *each.checks, each.why_not and f"not tested: {each.why_not}"]
        _print_row(each.section, lines, colour="" if each.checks else "yellow", indent=18)
    typer.echo(f"\n  {Coverage(None)}")


def print_results(results: Sequence[Result], calls: int, seconds: float, environment: str, *, as_json: bool) -> None:
    """Print the result of each check, the sums, and how much of the contract was tested."""
    counts, coverage = Counter(each.result for each in results), Coverage(results)
    if as_json:
        _print_json(
            {
                "contract": CONTRACT,
                "environment": environment or None,
                **{name.replace(" ", "_"): counts[name] for name in (PASSED, ADVICE, FAILED, NOT_TRIED)},
                "sentences_tested": coverage.tested,
                "sentences": coverage.all,
                "keyed_calls": calls,
                "seconds": round(seconds, 3),
                "checks": [_json_of_result(each) for each in results],
            }
        )
        return
    for each in results:
        ids = [f"request ID {request_id}" for request_id in each.request_ids[:_MAX_REQUEST_IDS]]
        _print_row(each.result, [each.check.name, each.check.sentence, each.said, *ids], colour=_COLOURS[each.result])
    sums = (typer.style(f"{counts[name]} {name}", fg=_COLOURS[name]) for name in RESULTS if counts[name])
    typer.echo(f"\n  {'   '.join(sums)}   {coverage}   {calls:,} keyed calls, {seconds:.1f} s")


def tell(line: str) -> None:
    """Print one line on stderr."""
    typer.echo(printable(line), err=True)


def _print_row(head: str, lines: Iterable[str], *, colour: str = "", indent: int = _INDENT) -> None:
    """Print a head and, beside it, lines; on a terminal they are folded."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 100_000
    shown = [part for line in lines if line for part in textwrap.wrap(printable(line), max(40, width - indent - 1))]
    head = printable(head).ljust(indent)
    with suppress(BrokenPipeError):
        typer.echo((typer.style(head, fg=colour) if colour else head) + f"\n{' ' * indent}".join(shown))


def _print_json(document: object) -> None:
    with suppress(BrokenPipeError):
        typer.echo(json.dumps(document))


def _json_of_check(each: Check) -> dict[str, object]:
    return {
        "name": each.name,
        "sentence": each.sentence,
        "calls": each.calls,
        "needs": list(each.needs),
        "risk": each.risk,
    }


def _json_of_result(each: Result) -> dict[str, object]:
    return {
        "name": each.check.name,
        "sentence": each.check.sentence,
        "result": each.result.replace(" ", "_"),
        "said": each.said or None,
        "blocked_by": each.blocked_by or None,
        "request_ids": list(each.request_ids),
        "seconds": round(each.seconds, 3),
    }
