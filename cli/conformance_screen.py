"""What a person sees of the checks and of what came of them."""

from collections import Counter
from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from cli.exit_codes import ExitCode
from cli.screen import console, counted, print_json
from conformance import FAILED, NOT_TRIED, PASSED, Check, Inputs, Result, Risk, Wire

_CONTRACT = "2.4.2"
_COLOURS = {PASSED: "green", FAILED: "bold red", NOT_TRIED: "yellow"}


def print_checks(checks: Iterable[Check], *, as_json: bool) -> int:
    """List checks: what each says, needs, takes and risks."""
    if as_json:
        print_json({"contract": _CONTRACT, "checks": [_document_of(each) for each in checks]})
        return ExitCode.ACCEPTED
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("check", "calls", "needs", "sentence"):
        table.add_column(column, no_wrap=column != "sentence", justify="right" if column == "calls" else "left")
    for each in checks:
        wants = [Inputs.option(name) for name in each.needs]
        named = [] if each.risk is Risk.NONE else [f"to be named: {each.risk}"]
        table.add_row(each.name, str(each.calls), ", ".join(wants + named), each.sentence)
    console().print(table)
    return ExitCode.ACCEPTED


def print_results(results: list[Result], wire: Wire, environment: str, seconds: float, *, as_json: bool) -> None:
    """Print what came of each check, and all together."""
    counts = Counter(each.result for each in results)
    if as_json:
        print_json(
            {
                "contract": _CONTRACT,
                "environment": environment or None,
                "passed": counts[PASSED],
                "failed": counts[FAILED],
                "not_tried": counts[NOT_TRIED],
                "keyed_calls": wire.keyed_calls,
                "seconds": round(seconds, 3),
                "checks": [_outcome_of(each) for each in results],
            }
        )
        return
    out = console()
    out.print(_table(results))
    out.print()
    told = Text("   ").join(
        Text(f"{counts[result]} {result}", style=_COLOURS[result]) for result in _COLOURS if counts[result]
    )
    out.print("  ", told, f"   {counted(wire.keyed_calls, 'keyed call')}, {seconds:.1f} s", sep="")


def _table(results: list[Result]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("result", no_wrap=True)
    table.add_column("check", no_wrap=True)
    table.add_column("the contract's sentence, and what was seen")
    for each in results:
        said = Text(each.check.sentence)
        if each.said:
            said.append(f"\n{each.said}", style=_COLOURS[each.result])
        for request_id in each.request_ids[:4]:
            said.append(f"\nrequest ID {request_id}")
        table.add_row(Text(each.result, style=_COLOURS[each.result]), each.check.name, said)
    return table


def _document_of(each: Check) -> dict[str, object]:
    return {
        "name": each.name,
        "sentence": each.sentence,
        "calls": each.calls,
        "needs": list(each.needs),
        "risk": each.risk,
    }


def _outcome_of(each: Result) -> dict[str, object]:
    return {
        "name": each.check.name,
        "sentence": each.check.sentence,
        "result": each.result.replace(" ", "_"),
        "said": each.said or None,
        "request_ids": list(each.request_ids),
    }
