"""What the results store knows about a file, and what the partner's support needs of it or of a run."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import takewhile

from proofsweep import __version__
from proofsweep.domain.exchanges import CONTRACT_VERSION, Call
from proofsweep.domain.items import Row
from proofsweep.domain.reasons import about
from proofsweep.domain.text import counted, minute_of, printable
from proofsweep.queries.run_calls import CallsKnown
from proofsweep.queries.search import Standing, calling_rows

_FAILURES = {"timeout": "no answer in time", "connection": "connection broken", "bad_answer": "unusable answer"}


def environments_of(verdicts: Sequence[Row]) -> list[str]:
    """Return the environments of some rows, that of the newest one first."""
    environments = [str(row["environment"]) for row in verdicts]
    return list(dict.fromkeys(environments))


def lines_of(
    verdicts: Sequence[Row],
    calls: Sequence[Row],
    standing: Mapping[str, Standing],
    moved: Mapping[tuple[str, str, str], str],
) -> Iterator[str]:
    """Write all that is known about an item, the newest first; text that others wrote is as they wrote it."""
    newest = verdicts[0]
    yield str(newest["audio"])
    location = _place_now(newest, moved)
    if location is not None:
        yield f"  now {location}"
    how_many = counted(len(verdicts), "row")
    yield f"  item {newest['item_id']}, in {how_many}"
    environments = environments_of(verdicts)
    for environment in environments:
        where = ""
        if len(environments) > 1:
            where = f" in {environment}"
        # How a file stands in one environment says nothing of another: a test service may have accepted what the real
        # one rejects.
        rows = [row for row in verdicts if row["environment"] == environment]
        newest = rows[0]
        yield f"  newest{where}: {_result_of(newest)}"
        yield from _open_since(rows)
        to_do = _what_to_do(newest, standing.get(environment))
        yield f"  what to do{where}: {to_do}"
    for row in verdicts:
        own_calls = _calls_for(row, calls)
        yield ""
        yield from _lines_of_row(row, own_calls)


def _lines_of_row(row: Row, calls: Sequence[Row]) -> Iterator[str]:
    which = f"run {row['run_id']} ({row['environment']})"
    if row["manifest_line"] is not None:
        which += f", {row['manifest_line']}"
    yield f"{which}: {_result_of(row)}"
    if row["detail"] is not None:
        yield f"  {row['detail']}"
    if row["answered_by_row"] is not None:
        yield "  The answer is that of another row, which has the same bytes; its calls:"
    if row["answered_by_run"] is not None:
        yield f"  The answer is that of the run {row['answered_by_run']}: the file has the same bytes"
    if not calls:
        yield "  no call was made"
    for call in calls:
        yield f"  {_line_of_call(call)}"


def _open_since(rows: Sequence[Row]) -> Iterator[str]:
    """Say since when a file is not accepted in an environment; of a single row, its own line says it."""
    still_open = list(takewhile(lambda row: row["outcome"] != "accepted", rows))
    if not still_open or len(rows) == 1:
        return
    first = still_open[-1]["finished_at"]
    when = "its first row"
    if isinstance(first, datetime):
        when = minute_of(first)
    before = "never accepted before"
    if len(still_open) < len(rows):
        before = "accepted before"
    how_many = counted(len(still_open), "row")
    yield f"  open since {when}, in {how_many}; {before}"


def words_of_outcome(row: Row) -> str:
    words = [row["outcome"], row["verdict"]]
    # The reason of a verdict is often the verdict's own word, which nobody wants to read twice.
    if row["reason"] != row["verdict"]:
        words.append(row["reason"])
    return " · ".join(_texts(words))


def _texts(cells: Sequence[object]) -> Iterator[str]:
    for cell in cells:
        if cell is not None:
            yield str(cell)


def json_of(
    verdicts: Sequence[Row],
    calls: Sequence[Row],
    standing: Mapping[str, Standing],
    moved: Mapping[tuple[str, str, str], str],
) -> dict[str, object]:
    """Return all that is known about an item; of the rows of an environment, only the newest one says what to do."""
    newest: dict[str, Row] = {}
    rows: list[dict[str, object]] = []
    for row in verdicts:
        environment = str(row["environment"])
        first = newest.setdefault(environment, row)
        to_do = _what_to_do(row, standing.get(environment))
        # A file that was rejected once and is accepted now has nothing to do for its old row.
        if first is not row:
            to_do = f"nothing: the row of run {first['run_id']} counts instead of this one"
        facts: dict[str, object] = {"verdict_row": row, "what_to_do": to_do}
        facts["moved_to"] = _place_now(row, moved)
        facts["exchanges"] = _calls_for(row, calls)
        rows.append(facts)
    return {"item_id": verdicts[0]["item_id"], "runs": rows}


def _place_now(row: Row, moved: Mapping[tuple[str, str, str], str]) -> str | None:
    environment = str(row["environment"])
    item_id = str(row["item_id"])
    audio = str(row["audio"])
    return moved.get((environment, item_id, audio))


def _calls_for(row: Row, calls: Sequence[Row]) -> list[Row]:
    own: list[Row] = []
    own_rows = calling_rows(row)
    for call in calls:
        is_of_run = call["run_id"] == row["run_id"]
        if is_of_run and call["manifest_row"] in own_rows:
            own.append(call)
    return own


def _result_of(row: Row) -> str:
    words = words_of_outcome(row)
    finished = row["finished_at"]
    if isinstance(finished, datetime):
        words += f", {minute_of(finished)}"
    return words


def _what_to_do(newest: Row, standing: Standing | None) -> str:
    """Ask nobody for a file that no catalog has any more."""
    if standing is None:
        return "nothing: no catalog that counts lists it"
    if standing.state == "moved":
        return f"nothing: it is listed no more; its bytes are {standing.moved_to} now"
    if standing.state == "gone":
        return "nothing: its catalog lists it no more"
    return _advice_for(newest)


def _advice_for(row: Row) -> str:
    reason = str(row["reason"] or "")
    return about(reason, str(row["outcome"])).remedy


def _line_of_call(call: Row) -> str:
    when = f"{call['started_at']:%Y-%m-%d %H:%M:%S}"
    answer = f"{call['call']!s:<8} {_answer_of(call)}"
    elapsed_ms = float(str(call["elapsed_ms"]))
    request_id = call["request_id"] or "no request ID"
    return f"{when}  {answer}  {elapsed_ms:,.0f} ms  {request_id}"


def packet_of(kinds: Sequence[Row]) -> str:
    """Write what the partner's support needs to look calls up, as `Search` has counted them; empty if there are none.

    Its size depends on the kinds of calls only.
    """
    # The contract asks clients to quote request IDs in problem reports (Behaviour, 7). A packet holds nothing that its
    # monitoring guidance forbids: no key, audio, sidecar, slot field, proof ID or body; and no file name.
    if not kinds:
        return ""
    program = f"Contract {CONTRACT_VERSION}, client proofsweep {__version__}"
    lines = [f"Calls to look up. {program}. All times are UTC."]
    for kind in kinds:
        lines += ["", *_lines_of_kind(kind)]
    return "\n".join(lines) + "\n"


def words_on_calls(run_id: str, known: CallsKnown, *, has_failed: bool) -> str:
    """Say in one sentence what is known of the calls of a run or an operation, beside those that failed, if any did."""
    named = "No other call" if has_failed else "No call"
    match known:
        case CallsKnown.ALL if has_failed:
            return ""
        case CallsKnown.ALL:
            return f"Every call of {run_id} succeeded; there is nothing to look up."
        case CallsKnown.SOME:
            return f"{named} of {run_id} that is recorded has failed. A process was killed: its last ones may be lost."
        case CallsKnown.SO_FAR:
            return f"{named} of {run_id} has failed up to the last rows that it wrote down; it is at work."
        case CallsKnown.NONE_YET:
            return f"No call of {run_id} is known: it is planned, and nothing has begun."
        case CallsKnown.PRUNED:
            return f"The calls of {run_id} were pruned: which of them failed is not known any more."


def _answer_of(exchange: Row) -> str:
    failure = _FAILURES.get(str(exchange["failure"]))
    words = _texts([exchange["status"], exchange["error_code"], failure])
    return printable(" ".join(words)) or "no answer"


def _lines_of_kind(kind: Row) -> Iterator[str]:
    first, last = kind["first"], kind["last"]
    calls = int(str(kind["calls"]))
    window = f"{first:%Y-%m-%d %H:%M:%S}"
    if last != first:
        window += f" to {last:%H:%M:%S}"
    endpoint = Call(str(kind["call"])).endpoint
    answer = _answer_of(kind)
    how_many = counted(calls, "call")
    environment = printable(str(kind["environment"]))
    yield f"{endpoint}: {answer}. {how_many}, {window}; {environment}"
    shown = kind["named"]
    if not isinstance(shown, list):
        shown = []
    for call in shown:
        started_at = call["started_at"].astimezone(UTC)
        request_id = printable(call["request_id"] or "")
        if not request_id:
            # Support can look such a call up by its time and size alone.
            request_id = f"no request ID; {_sent(call)}"
        yield f"  {started_at:%H:%M:%S}  {request_id}"
    more = calls - len(shown)
    if more > 0:
        yield f"  and {more:,} more"


def _sent(call: Row) -> str:
    sent = call["bytes_sent"]
    what = "nothing was sent"
    if sent is not None:
        what = f"{sent:,} bytes sent"
    elapsed_ms = float(str(call["elapsed_ms"] or 0))
    return f"{what}, after {elapsed_ms / 1000:.1f} s"
