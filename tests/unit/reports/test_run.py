"""The summary of a run says how it ended and what to do about its rows."""

from dataclasses import replace

import pytest

from proofsweep.domain.runs import Plan
from proofsweep.domain.text import markdown
from proofsweep.queries.status import Group, RunStatus
from proofsweep.reports.run import calls_of, ending_of, json_of, line_of, markdown_of, notes_of
from proofsweep.store.runs import LegRecord

ACCEPTED = Group(outcome="accepted", verdict="valid", reason=None, rows=1, example="/music/0.wav")
TAMPERED = Group(outcome="rejected", verdict="tampered", reason="tampered", rows=1, example="/music/1.wav")


def leg_of(number: int, **receipt: object) -> LegRecord:
    return LegRecord.of(number, receipt)


def status_of(plan: Plan, *legs: LegRecord, groups: tuple[Group, ...] = (ACCEPTED, TAMPERED)) -> RunStatus:
    return RunStatus(plan=plan, groups=groups, legs=legs)


def test_a_closed_window_is_explained_once(plan: Plan) -> None:
    """A window closes by the clock or by calls: the headline has the leg's own sentence, and the notes do not."""
    run = status_of(plan, leg_of(1, ended_by="window", why="Of the 50 calls that it was given, none are left."))

    assert ending_of(run) == "stopped: of the 50 calls that it was given, none are left; resume for the rest"
    assert notes_of(run) == []


def test_the_notes_say_why_a_run_stopped_and_what_the_service_announces(plan: Plan) -> None:
    """The Sunset header announces a breaking change (contract, Versioning 3)."""
    why = "The service refused the key."

    notes = notes_of(status_of(plan, leg_of(1, ended_by="key_refused", why=why, counts={"sunset": "soon"})))

    assert notes[0] == why
    assert "Sunset: soon" in notes[1]


@pytest.mark.parametrize(
    ("ended_by", "unrecorded", "words"),
    [
        ("quota", 0, "10 keyed calls, 2 of them made again"),
        ("killed", None, "10 keyed calls, 2 of them made again, and some that a killed leg could not write down: "),
    ],
)
def test_calls_of_a_killed_leg_are_counted_as_far_as_known(
    plan: Plan, ended_by: str, unrecorded: int | None, words: str
) -> None:
    """Unknown is null in the object, and not zero."""
    killed = leg_of(1, ended_by=ended_by, counts={"calls": 4, "calls_again": 0})
    cancelled = leg_of(2, ended_by="cancelled", counts={"calls": 6, "calls_again": 2})

    run = status_of(plan, killed, cancelled)

    assert json_of(run, "results")["calls_unrecorded"] == unrecorded
    assert calls_of(run).startswith(words)


def test_no_answer_forges_a_line_of_the_markdown(plan: Plan) -> None:
    """A verdict is the partner's text: it adds no row to the table, no link and no picture."""
    forged = "x |\n| 9 | accepted | ![](https://evil.example/a.png) `<script>"
    group = Group(outcome="rejected", verdict=forged, reason=forged, rows=1, example="/music/1.wav")

    text = markdown_of(status_of(plan, groups=(group,)), "s3://bucket/`results`")

    (row,) = [line for line in text.splitlines() if line.startswith("| 1 |")]
    assert text.count("\n| ") == 2  # the head of the table, and one row
    assert r"x \|\\n\| 9 \| accepted \| \!\[\]\(https://evil.example/a.png\) \`\<script\>" in row
    assert r"Tables: s3://bucket/\`results\` (verdicts" in text


def test_the_markdown_names_what_needs_attention(plan: Plan) -> None:
    """Each kind of row that is not accepted has a file as an example, whose name is not read as Markdown; no proof."""
    forged = replace(TAMPERED, example="/music/a|b<img>\n1.wav")

    text = markdown_of(status_of(plan, groups=(ACCEPTED, forged)), "results")

    assert "**Needs attention: 1 rejected.**" in text
    assert r"| /music/a\|b\<img\>\\n1.wav |" in text
    assert ACCEPTED.example not in text
    assert "Needs attention" not in markdown_of(status_of(plan, groups=(ACCEPTED,)), "results")
    by_proof = replace(TAMPERED, example="proof:5f0c")  # Prefect keeps the text as it is
    assert "5f0c" not in markdown_of(status_of(plan, groups=(by_proof,)), "results")


def test_one_line_says_how_the_run_stands(plan: Plan) -> None:
    refused = status_of(plan, leg_of(1, ended_by="breaker", why="Ten calls in a row failed."))
    whole = status_of(plan, leg_of(1, ended_by="complete"), groups=(replace(ACCEPTED, rows=4),))

    assert line_of(refused) == (
        "Run 20261120T100000Z_aaaaaa: stopped: the service or the files' source could not be relied on; resume for "
        "the rest. 1 accepted, 1 rejected, 2 of 4 rows remain. Ten calls in a row failed."
    )
    assert line_of(whole) == "Run 20261120T100000Z_aaaaaa: every row has its outcome. 4 accepted."


def test_pairs_that_were_not_sent_are_said_loudly(plan: Plan) -> None:
    """A setting keeps them back, and no file is at fault."""
    run = status_of(replace(plan, reasons={"empty": 1, "sidecar_field_unknown": 1_300}))

    (note,) = notes_of(run)

    assert note.startswith("1,300 of the rows are legacy pairs and NOT SENT: the sidecar's wire name is not set.")
    assert markdown(note) in markdown_of(run, "results")
    assert notes_of(status_of(plan)) == []


def test_a_clip_needs_nobody(plan: Plan) -> None:
    """A message calls it a preview: it is no part of what somebody must look at."""
    clip = Group(outcome="ineligible", verdict=None, reason="clip", rows=2, example="/music/c.wav")
    run = status_of(plan, leg_of(1, ended_by="complete"), groups=(ACCEPTED, clip))

    assert (run.rows("ineligible"), run.attention("ineligible"), clip.example_to_look_at) == (2, 0, "")
    assert "ineligible" not in markdown_of(run, "results").partition("| rows |")[0]
