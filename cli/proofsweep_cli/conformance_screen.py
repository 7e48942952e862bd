"""Print the checks and their results."""

from collections import Counter
from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from partner_conformance import FAILED, NOT_TRIED, PASSED, Check, Inputs, Result, Risk, Wire
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.screen import console, counted, print_json, styled

CONTRACT = "2.4.2"
RESULTS = (FAILED, NOT_TRIED, PASSED)
"""The order in which results are shown."""
_COLOURS = {FAILED: "bold red", NOT_TRIED: "yellow", PASSED: "green"}
# Bounds the height of a row. Chosen: half hides the calls of short checks, twice fills the screen; `--json` has all.
_MAX_REQUEST_IDS = 4


def print_checks(checks: Iterable[Check], *, as_json: bool) -> int:
    """List checks: the sentence, needs, calls and risk of each."""
    if as_json:
        print_json({"contract": CONTRACT, "checks": [_json_of_check(each) for each in checks]})
        return ExitCode.ACCEPTED
    table = _table_of("calls", "check")
    for each in checks:
        needs = [Inputs.option(name) for name in each.needs]
        named = [] if each.risk is Risk.NONE else [f"only when named: it {each.risk}"]
        table.add_row(str(each.calls), _description(each, "dim", [f"needs {', '.join(needs)}"] if needs else [], named))
    console().print(table)
    return ExitCode.ACCEPTED


def print_results(results: list[Result], wire: Wire, environment: str, seconds: float, *, as_json: bool) -> None:
    """Print the result of each check, and the sums."""
    counts = Counter(each.result for each in results)
    if as_json:
        print_json(
            {
                "contract": CONTRACT,
                "environment": environment or None,
                "passed": counts[PASSED],
                "failed": counts[FAILED],
                "not_tried": counts[NOT_TRIED],
                "keyed_calls": wire.keyed_calls,
                "seconds": round(seconds, 3),
                "checks": [_json_of_result(each) for each in results],
            }
        )
        return
    out = console()
    out.print(_table(results))
    out.print()
    sums = Text("   ").join(
        styled(f"{counts[result]} {result}", _COLOURS[result]) for result in _COLOURS if counts[result]
    )
    out.print("  ", sums, f"   {counted(wire.keyed_calls, 'keyed call')}, {seconds:.1f} s", sep="")


def _table(results: list[Result]) -> Table:
    table = _table_of("result", "check")
    for each in results:
        style = _COLOURS[each.result]
        ids = [f"request ID {request_id}" for request_id in each.request_ids[:_MAX_REQUEST_IDS]]
        table.add_row(
            styled(each.result, style), _description(each.check, style, [each.said] if each.said else [], ids)
        )
    return table


def _table_of(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=column != "check")
    return table


def _description(each: Check, style: str, coloured: list[str], plain: list[str]) -> Text:
    """Write a check's name, its sentence below, and further lines below that."""
    lines = [styled(each.name, "bold"), styled(each.sentence, "not bold")]
    lines += [styled(line, f"not bold {style.removeprefix('bold ')}") for line in coloured]
    lines += [styled(line, "not bold") for line in plain]
    return Text("\n").join(lines)


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
        "request_ids": list(each.request_ids),
        "seconds": round(each.seconds, 3),
    }
