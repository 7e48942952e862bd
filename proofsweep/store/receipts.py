"""Which legs a run has, and the parts that their receipts name: read by name, since a listing may lag behind."""

import json
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import count
from typing import Any

from proofsweep.domain.errors import NameTaken
from proofsweep.store import layout
from proofsweep.store.store import Store, json_bytes, read_object, sha256_hex


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a table as read back: its name, rows and hex sha256."""

    name: str
    rows: int
    sha256: str


def receipted_parts(receipt: Mapping[str, Any]) -> list[Part]:
    """Return the parts that a receipt names; KeyError, ValueError or TypeError if it is damaged."""
    return [Part(name=each["name"], rows=int(each["rows"]), sha256=each["sha256"]) for each in receipt["parts"]]


def last_leg(store: Store, run_id: str) -> int:
    """Return the number of the last leg, 0 without one. A leg exists if its claim does: its folder may come earlier."""
    listed = [int(name) for name in store.folders(layout.legs_folder(run_id)) if name.isdecimal()]
    last = max(listed, default=0)
    while last and not has_claim(store, run_id, last):
        last -= 1
    while has_claim(store, run_id, last + 1):
        last += 1
    return last


def has_claim(store: Store, run_id: str, leg: int) -> bool:
    return store.read(layout.claim_name(run_id, leg)) is not None


def receipt_of(store: Store, run_id: str, leg: int) -> dict[str, object] | None:
    """Read how a leg ended; None while it runs. ResultsError if it is damaged."""
    return read_object(store, layout.receipt_name(run_id, leg))


def ended_parts(store: Store, run_id: str) -> dict[int, list[Part]]:
    """Return the parts of each leg that has ended, by its receipt."""
    receipts = {leg: receipt_of(store, run_id, leg) for leg in range(1, last_leg(store, run_id) + 1)}
    named = {leg: receipt.get("parts") for leg, receipt in receipts.items() if receipt is not None}
    return {leg: [Part(**part) for part in parts] for leg, parts in named.items() if isinstance(parts, list)}


_NEWEST = 8


@dataclass(frozen=True, slots=True)
class ReceiptLink:
    """A receipt, or an intent, and the hex sha256 of its bytes."""

    name: str
    sha256: str


def newest_receipts(store: Store, but: str = "") -> list[ReceiptLink]:
    """Return the last receipts of the newest runs and operations but one, and of the last pruning."""
    runs = [name for name in store.folders("_runs") if name != but][-_NEWEST:]
    operations = [name for name in store.folders(layout.OPERATIONS_FOLDER) if name != but][-_NEWEST:]
    with ThreadPoolExecutor(_NEWEST) as pool:
        found = list(pool.map(lambda run_id: _last_of_run(store, run_id), runs))
        found += pool.map(lambda each: _first(store, layout.operation_names(each)), operations)
    prunings = [each for each in store.names(layout.PRUNED_FOLDER) if each.endswith("-receipt.json")]
    found.append(_first(store, reversed(prunings)))
    return [link for link in found if link is not None]


def links_in(document: Mapping[str, Any]) -> Iterator[ReceiptLink]:
    """Return what a receipt holds; KeyError or TypeError if it is damaged."""
    return (ReceiptLink(str(each["name"]), str(each["sha256"])) for each in document["earlier_receipts"])


def link_to(store: Store, names: Iterable[str]) -> list[dict[str, str]]:
    """Return what a receipt says of objects of the store that it holds."""
    return [asdict(link) for name in names if (link := _first(store, [name])) is not None]


def seal_prunings(store: Store, intents: Iterable[str], decided_at: datetime) -> None:
    """Write the receipt that holds the intents of prunings, before anything is deleted, if none holds them yet."""
    before = [name for name in store.names(layout.PRUNED_FOLDER) if name.endswith("-receipt.json")]
    held = {link.name for name in before for link in links_in(json.loads(store.read(name) or b""))}
    new = link_to(store, [name for name in intents if name not in held])
    links = [*map(asdict, newest_receipts(store)), *new]
    content = json_bytes({"decided_at": decided_at.isoformat(timespec="seconds"), "earlier_receipts": links})
    for number in count(len(before) + 1) if new else ():
        with suppress(NameTaken):
            store.create(layout.prunings_receipt_name(number), content)
            break


def _last_of_run(store: Store, run_id: str) -> ReceiptLink | None:
    legs = range(last_leg(store, run_id), 0, -1)  # the last one may be at work
    return _first(store, (layout.receipt_name(run_id, leg) for leg in legs))


def _first(store: Store, names: Iterable[str]) -> ReceiptLink | None:
    for name in names:
        content = store.read(name)
        if content is not None:
            return ReceiptLink(name, sha256_hex(content))
    return None
