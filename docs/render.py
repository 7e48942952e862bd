# ruff: noqa: INP001 - a script, no package
"""Write the generated blocks of the docs: `python docs/render.py`; with `--check` only say which are out of date."""

import inspect
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

from proofsweep.alerts.rules import EVENTS
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.exchanges import Call
from proofsweep.domain.reasons import reason_entries
from proofsweep.queries.views import views
from proofsweep.store.tables import TABLES, Column

DOCS = Path(__file__).parent
ROOT = DOCS.parent

USES = {
    Call.HEALTH: (("service health", "service monitor", "doctor"), "check_service", ("probes",)),
    Call.KEYS: (("keys list",), None, ()),
    Call.ROTATE: (("keys rotate",), None, ("rotations",)),
    Call.USAGE: (("service usage", "service monitor"), "check_service", ("probes",)),
    Call.PROOFS: (("proofs inventory", "proofs list"), "run_operation", ("proofs",)),
    Call.PROOF: (("proofs recover", "proofs show"), None, ("recoveries",)),
    Call.ERASE: (("proofs erase",), None, ("erasures",)),
    Call.ASSET: (("verify",), "verify_catalog", ("verdicts",)),
    Call.INTERPRETATION: (("proofs notes",), "run_operation", ("interpretations",)),
    Call.UPLOADS: (("verify", "check", "ingest"), "verify_catalog", ("verdicts",)),
    Call.VERIFY: (("verify", "check", "ingest"), "verify_catalog", ("verdicts",)),
}
"""For each endpoint of the contract, in their order: its commands, its flow and its tables."""


def rendered(text: str) -> str:
    """Fill each block between its markers with what the code says."""
    blocks = {
        **{name: columns_table(table.columns) for name, table in TABLES.items()},
        "views": views_table(),
        "reasons": reasons_table(),
        "endings": endings_table(),
        "alerts": alerts_table(),
        "endpoints": endpoints_table(),
        "rooms": "\n".join(rooms()),
    }
    for name, content in blocks.items():
        start, end = f"<!-- generated: {name} -->\n", "<!-- end -->"
        pattern = re.compile(f"({re.escape(start)}).*?({re.escape(end)})", re.DOTALL)  # an empty block matches once
        text = pattern.sub(lambda found, content=content: found[1] + content + found[2], text)
    return text


def columns_table(columns: Sequence[Column]) -> str:
    """Return a table of a table's columns."""
    lines = ["| column | type | meaning |", "|---|---|---|"]
    for column in columns:
        kind = column.kind if column.nullable else f"{column.kind}, not null"
        lines.append(f"| `{column.name}` | {kind} | {column.meaning} |")
    return "\n".join(lines) + "\n"


def endpoints_table() -> str:
    """Return a table of the endpoints, each with what proofsweep does with it."""
    lines = ["| contract | command | flow | table |", "|---|---|---|---|"]
    for call, (commands_of, flow, tables_of) in USES.items():
        commands, tables = (", ".join(f"`{name}`" for name in names) or "none" for names in (commands_of, tables_of))
        lines.append(f"| `{Call(call).endpoint}` | {commands} | {f'`{flow}`' if flow else 'none'} | {tables} |")
    return "\n".join(lines) + "\n"


def alerts_table() -> str:
    """List the events of which somebody is told."""
    lines = ["| alert | when | states of flow runs | urgency |", "|---|---|---|---|"]
    for kind, event in EVENTS.items():
        states = ", ".join(f"`{state}`" for state in event.states)
        lines.append(f"| `{kind}` | {event.when} | {states} | {event.severity} |")
    return "\n".join(lines)


def reasons_table() -> str:
    """Return a table of the reasons, each with all that is known of it."""
    lines = [
        "| reason | in plain words | when | what to do | at fault | may heal | supplier is told |",
        "|---|---|---|---|---|---|---|",
    ]
    for reason, entry in reason_entries().items():
        told = "yes" if entry.tells_supplier else "no"
        about = (f"`{reason}`", entry.plain, entry.meaning, entry.remedy, entry.at_fault, entry.heals, told)
        lines.append(f"| {' | '.join(about)} |")
    return "\n".join(lines) + "\n"


def endings_table() -> str:
    """Return a table of the endings of a leg, each with what follows from it."""
    lines = [
        "| ended_by | when | exit code | state | alert | the next run |",
        "|---|---|---|---|---|---|",
    ]
    for each in (member.ending for member in EndedBy):
        alert = "none" if each.alert is None else f"[`{each.alert}`](alerts.md)"
        goes_on = "goes on" if each.exit_code else "leaves it"
        lines.append(f"| `{each.word}` | {each.meaning} | {each.exit_code} | `{each.state}` | {alert} | {goes_on} |")
    return "\n".join(lines) + "\n"


def views_table() -> str:
    """Return a table of the views, each with its meaning."""
    return (
        "\n".join(["| view | meaning |", "|---|---|", *(f"| `{each.name}` | {each.meaning} |" for each in views())])
        + "\n"
    )


def rooms() -> Iterator[str]:
    """Draw the rooms of the core, the highest line first, each with the first sentence of its docstring."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (core,) = (contract for contract in contracts if contract["id"] == "core")
    yield "```"
    for layer in core["layers"]:
        for name in layer.split(" | "):
            documented = inspect.getdoc(import_module(f"proofsweep.{name}")) or ""
            yield f"{name:<12}{documented.splitlines()[0]}"
        yield ""
    yield "```\n"


def main(arguments: list[str]) -> int:
    """Render the docs, or check them."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
    stale = [page for page in pages if rendered(page.read_text("utf-8")) != page.read_text("utf-8")]
    if "--check" in arguments:
        sys.stdout.writelines(f"{page.name} is out of date: run python docs/render.py\n" for page in stale)
        return len(stale)
    for page in stale:
        page.write_text(rendered(page.read_text("utf-8")), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
