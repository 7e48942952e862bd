"""A run in words: how it ended, what to do about each kind of row, where the tables are. Pure."""

from collections.abc import Mapping

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.outcomes import MEANING_OF_VALID
from proofsweep.domain.reasons import Reason
from proofsweep.domain.runs import OUTCOMES
from proofsweep.domain.text import markdown, remaining_words
from proofsweep.queries.status import NEED_ATTENTION, Group, RunStatus


def ending_of(run: RunStatus) -> str:
    """Return in one clause how the run stands; for `window`, with the leg's own sentence."""
    if run.ended_by is None:
        if run.legs:
            return "a leg is running"
        return "planned, not started"
    ending = EndedBy(run.ended_by).ending
    if not ending.exit_code:
        return ending.meaning
    why = ending.meaning
    if run.ended_by == EndedBy.WINDOW and run.why:
        clause = run.why.removesuffix(".")
        why = clause[0].lower() + clause[1:]
    when = ""
    if run.ended_by == EndedBy.QUOTA:
        when = "after its reset "
    return f"stopped: {why}; resume {when}for the rest"


def line_of(run: RunStatus) -> str:
    counts: list[str] = []
    for outcome in OUTCOMES:
        rows = run.rows(outcome)
        if rows:
            counts.append(f"{rows:,} {outcome}")
    if run.remaining:
        counts.append(remaining_words(run.remaining, run.plan.items))
    listed = ", ".join(counts)
    line = f"Run {run.plan.run_id}: {ending_of(run)}. {listed}."
    return " ".join([line, *_why_of(run)])


def _why_of(run: RunStatus) -> list[str]:
    # At the end of its window, `ending_of` has the leg's own sentence already.
    if run.why is None or run.ended_by == EndedBy.WINDOW:
        return []
    return [run.why]


def calls_of(run: RunStatus) -> str:
    calls = f"{run.total('calls'):,} keyed calls"
    again = run.total("calls_again")
    if again:
        calls += f", {again:,} of them made again"
    checks = sum(leg.check_calls for leg in run.legs)
    if checks:
        calls += f", {checks:,} of them for checks"
    if any(leg.ended_by == EndedBy.KILLED for leg in run.legs):
        calls += ", and some that a killed leg could not write down: how many is not known"
    return calls


def notes_of(run: RunStatus) -> list[str]:
    """Return why the run stopped, unless its headline does, what a setting kept back, and which change is announced."""
    notes = _why_of(run)
    if run.unpublished:
        where = "in the killed leg's journal, and in no Parquet file yet"
        notes.append(f"{run.unpublished:,} of the finished rows are {where}: resume publishes them.")
    notes += unsent_pairs_note(run.plan.reasons)
    if run.pruned_at is not None:
        notes.append(f"Pruned at {run.pruned_at}: the counts are by the receipts.")
    if run.sunset is not None:
        notes.append(sunset_note(run.sunset))
    return notes


def sunset_note(sunset: str) -> str:
    return f"The service announces a breaking change (Sunset: {sunset}); ask the partner for the migration guide."


def unsent_pairs_note(reasons: Mapping[str, int]) -> list[str]:
    pairs = reasons.get(Reason.SIDECAR_FIELD_UNKNOWN, 0)
    if not pairs:
        return []
    note = (
        f"{pairs:,} of the rows are legacy pairs and NOT SENT: the sidecar's wire name is not set. Ask the partner for "
        "it, set service.sidecar_field and verify again."
    )
    return [note]


def markdown_of(run: RunStatus, results_url: str) -> str:
    """Write the summary as Markdown, with a file of each kind that needs attention; no proof ID and no secret."""
    plan = run.plan
    attention = attention_words(run)
    rows = f"{run.finished:,} of {plan.items:,} rows finished"
    rows += f", {run.remaining:,} remain"
    if plan.skipped:
        rows += f"; {plan.skipped:,} more rows of the catalog were not due"
    # What others wrote is escaped: else a title or a folder's name would be a link or an image on Prefect's page.
    run_id = markdown(plan.run_id)
    ending = markdown(ending_of(run))
    lines = [f"# Run {run_id}: {ending}", "", f"{rows}.", ""]
    lines += map(markdown, notes_of(run))
    lines.append("")
    if attention:
        lines += [f"**Needs attention: {attention}.**", ""]
    lines += ["| rows | outcome | what to do | for example |", "|---:|---|---|---|"]
    lines += map(_row_of, run.groups)
    lines.append("")
    if attention:
        lines += [f"All that need attention: `proofsweep rejects {plan.run_id}`", ""]
    calls = calls_of(run)
    throttled = run.total("throttled")
    lines += [f"{calls}; {throttled:,} throttled.", ""]
    tables = markdown(results_url)
    lines += [f"Tables: {tables} (verdicts, exchanges, runs).", ""]
    if run.head:
        lines += [f"Head of the log: `{run.head}`", ""]
    lines += [markdown(MEANING_OF_VALID), ""]
    return "\n".join(lines)


def attention_words(run: RunStatus) -> str:
    """Say how many rows of which outcomes somebody must look at; empty if there are none."""
    parts: list[str] = []
    for outcome in NEED_ATTENTION:
        rows = run.attention(outcome)
        if rows:
            parts.append(f"{rows:,} {outcome}")
    return ", ".join(parts)


def _row_of(group: Group) -> str:
    texts = (group.label, group.what_to_do, group.example_to_look_at)
    cells = " | ".join(map(markdown, texts))
    return f"| {group.rows:,} | {cells} |"


def json_of(run: RunStatus, results_url: str) -> dict[str, object]:
    """Return the summary as one object: counts over all legs, and the last leg's own row under `this_leg`."""
    plan = run.plan
    leg = 0
    this_leg: Mapping[str, object] = {}
    if run.legs:
        last = run.legs[-1]
        leg, this_leg = last.leg, last.counts
    summary: dict[str, object] = {"run_id": plan.run_id, "leg": leg, "ended_by": run.ended_by}
    summary |= {"items": plan.items, "skipped": plan.skipped}
    for outcome in OUTCOMES:
        summary[outcome] = run.rows(outcome)
    summary["remaining"] = run.remaining
    for column in ("calls", "calls_again", "throttled", "bytes_sent"):
        summary[column] = run.total(column)
    summary["calls_unrecorded"] = run.calls_unrecorded
    summary["seconds"] = round(run.seconds, 3)
    summary["results"] = results_url
    summary["head"] = run.head or None
    summary["pruned_at"] = run.pruned_at
    summary["groups"] = list(map(_json_of_group, run.groups))
    summary["this_leg"] = this_leg
    summary["active"] = [leg.document() for leg in run.active]
    return summary


def _json_of_group(group: Group) -> dict[str, object]:
    facts: dict[str, object] = {"outcome": group.outcome, "verdict": group.verdict, "reason": group.reason}
    facts["rows"] = group.rows
    facts["what_to_do"] = group.what_to_do
    facts["example"] = group.example_to_look_at or None
    return facts
