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
        return "a leg is running" if run.legs else "planned, not started"
    ending = EndedBy(run.ended_by).ending
    if not ending.exit_code:
        return ending.meaning
    why = ending.meaning
    if run.ended_by == EndedBy.WINDOW and run.why:
        why = f"{run.why[0].lower()}{run.why[1:].removesuffix('.')}"
    when = "after its reset " if run.ended_by == EndedBy.QUOTA else ""
    return f"stopped: {why}; resume {when}for the rest"


def line_of(run: RunStatus) -> str:
    counts = [f"{run.rows(outcome):,} {outcome}" for outcome in OUTCOMES if run.rows(outcome)]
    counts += [remaining_words(run.remaining, run.plan.items)] if run.remaining else []
    why = [] if run.why is None or run.ended_by == EndedBy.WINDOW else [run.why]
    return " ".join([f"Run {run.plan.run_id}: {ending_of(run)}. {', '.join(counts)}.", *why])


def calls_of(run: RunStatus) -> str:
    calls = f"{run.total('calls'):,} keyed calls"
    if run.total("calls_again"):
        calls += f", {run.total('calls_again'):,} of them made again"
    if checks := sum(leg.check_calls for leg in run.legs):
        calls += f", {checks:,} of them for checks"
    if any(leg.ended_by == EndedBy.KILLED for leg in run.legs):
        calls += ", and some that a killed leg could not write down: how many is not known"
    return calls


def notes_of(run: RunStatus) -> list[str]:
    """Return why the run stopped, unless its headline does, what a setting kept back, and which change is announced."""
    notes = [] if run.why is None or run.ended_by == EndedBy.WINDOW else [run.why]
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
    note = (
        f"{pairs:,} of the rows are legacy pairs and NOT SENT: the sidecar's wire name is not set. Ask the partner for "
        "it, set service.sidecar_field and verify again."
    )
    return [note] if pairs else []


def markdown_of(run: RunStatus, results_url: str) -> str:
    """Write the summary as Markdown, with a file of each kind that needs attention; no proof ID and no secret."""
    found = [f"{run.attention(outcome):,} {outcome}" for outcome in NEED_ATTENTION if run.attention(outcome)]
    rows = f"{run.finished:,} of {run.plan.items:,} rows finished, {run.remaining:,} remain"
    skipped = f"; {run.plan.skipped:,} more rows of the catalog were not due" if run.plan.skipped else ""
    lines = [f"# Run {markdown(run.plan.run_id)}: {markdown(ending_of(run))}", "", f"{rows}{skipped}.", ""]
    lines += [*map(markdown, notes_of(run)), ""]
    if found:
        lines += [f"**Needs attention: {', '.join(found)}.**", ""]
    lines += ["| rows | outcome | what to do | for example |", "|---:|---|---|---|", *map(_row_of, run.groups), ""]
    if found:
        lines += [f"All that need attention: `proofsweep rejects {run.plan.run_id}`", ""]
    lines += [f"{calls_of(run)}; {run.total('throttled'):,} throttled.", ""]
    lines += [f"Tables: {markdown(results_url)} (verdicts, exchanges, runs).", ""]
    if run.head:
        lines += [f"Head of the log: `{run.head}`", ""]
    return "\n".join([*lines, markdown(MEANING_OF_VALID)]) + "\n"


def _row_of(group: Group) -> str:
    cells = [markdown(text) for text in (group.label, group.what_to_do, group.example_to_look_at)]
    return f"| {group.rows:,} | {' | '.join(cells)} |"


def json_of(run: RunStatus, results_url: str) -> dict[str, object]:
    """Return the summary as one object: counts over all legs, and the last leg's own row under `this_leg`."""
    last = run.legs[-1] if run.legs else None
    return {
        "run_id": run.plan.run_id,
        "leg": last.leg if last else 0,
        "ended_by": run.ended_by,
        "items": run.plan.items,
        "skipped": run.plan.skipped,
        **{outcome: run.rows(outcome) for outcome in OUTCOMES},
        "remaining": run.remaining,
        **{column: run.total(column) for column in ("calls", "calls_again", "throttled", "bytes_sent")},
        "calls_unrecorded": run.calls_unrecorded,
        "seconds": round(run.seconds, 3),
        "results": results_url,
        "head": run.head or None,
        "pruned_at": run.pruned_at,
        "groups": list(map(_json_of_group, run.groups)),
        "this_leg": last.counts if last else {},
        "active": [leg.document() for leg in run.active],
    }


def _json_of_group(group: Group) -> dict[str, object]:
    facts = {name: getattr(group, name) for name in ("outcome", "verdict", "reason", "rows", "what_to_do")}
    return facts | {"example": group.example_to_look_at or None}
