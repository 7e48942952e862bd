"""What happened to one proof, in words: one line for each row that names it."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from proofsweep.domain.tables.columns import Row


def lines_of_proof(proof_id: str, found: Sequence[tuple[str, datetime, Row]]) -> Iterator[str]:
    """Write what is known of a proof, the newest first; text that others wrote is as they wrote it.

    Args:
        proof_id: the proof, as it was asked for.
        found: the table, the time in UTC and the row of each.
    """
    yield f"proof {proof_id}, in {len(found):,} {'row' if len(found) == 1 else 'rows'}"
    for table, moment, row in found:
        yield f"  {moment:%Y-%m-%d %H:%M} UTC  {row['environment']}  {_SENTENCES[table](row)}{_call_of(row)}"
    items = dict.fromkeys(str(row["item_id"]) for table, _, row in found if table == "verdicts")
    yield from (f"  every call for its file: proofsweep explain {item_id}" for item_id in items)


def json_of_proof(proof_id: str, found: Sequence[tuple[str, datetime, Row]]) -> dict[str, object]:
    """Give the same as one object; the rows are those of the tables."""
    return {
        "proof_id": proof_id,
        "found": [{"table": table, "at": moment.isoformat(), "row": row} for table, moment, row in found],
    }


def _of_verdict(row: Row) -> str:
    words = [str(row["outcome"])]
    words += [str(word) for word in dict.fromkeys((row["verdict"], row["reason"])) if word is not None]
    return f"verified: {' · '.join(words)}, {row['audio']}"


def _of_inventory(row: Row) -> str:
    differs = f" ({row['differs']})" if row["differs"] else ""
    return f"inventory: {row['state']}{differs}"


def _of_note(row: Row) -> str:
    return f"process note: {row['status']}"


def _of_recovery(row: Row) -> str:
    place = f", written to {row['recovered_to']}" if row["recovered_to"] else ""
    return f"sidecar: {row['outcome']}{place}"


def _of_erasure(row: Row) -> str:
    return f"erased by us: {row['outcome'] or row['reason']}"


def _call_of(row: Row) -> str:
    request_id = row.get("request_id") or row.get("verify_request_id")
    return f", {request_id}" if request_id else ""


_SENTENCES = {
    "verdicts": _of_verdict,
    "proofs": _of_inventory,
    "interpretations": _of_note,
    "recoveries": _of_recovery,
    "erasures": _of_erasure,
}
