"""Names of all objects in a results store: functions of run, leg and number, so that no work is stored twice."""

import hashlib
import re
from datetime import date
from typing import Literal

from proofsweep.domain.items import raw_bytes

# What is derived may be deleted at any time, and is made anew.
# The number is one more whenever a record in the index has other members.
INDEX_NAME = "_index/runs-2.json.gz"
LATEST_FOLDER = "_latest"
PRUNED_FOLDER = "_pruned"
LEDGER_FOLDER = "_ledger"
# Entries of the ledger in one folder, so that the newest is found by two short listings.
_ENTRIES_PER_FOLDER = 1_000
# What was told of each cause, and to whom; it can be deleted too.
ALERTS_FOLDER = "_alerts"
# A results store of its own inside this one: the leases and documents of watched folders.
INGEST_FOLDER = "_ingest"

ItemList = Literal["items", "listed", "gone"]
"""Of a run its planned items; the whole catalog, if it leaves some out; what only the listing before had."""

_RUN_ID = re.compile(r"[0-9A-Za-z_]{1,64}")
_OPERATION_ID = re.compile(r"\d{8}T\d{6}Z_\d{3}_([a-z]+)_[0-9a-f]+", re.ASCII)


def is_run_id(text: str) -> bool:
    return _RUN_ID.fullmatch(text) is not None


def kind_of(run_id: str) -> str:
    """Return the kind of operation that a run is, by its ID; empty for one that verifies a catalog."""
    named = _OPERATION_ID.fullmatch(run_id)
    return "" if named is None else named[1]


def plan_name(run_id: str) -> str:
    return f"_runs/{run_id}/plan.json"


def items_folder(run_id: str, which: ItemList = "items") -> str:
    return f"_runs/{run_id}/{which}"


def items_name(run_id: str, number: int, which: ItemList = "items") -> str:
    """Name some items of a list; `number` counts such objects from 0, in manifest order."""
    return f"{items_folder(run_id, which)}/{number:05}.parquet"


def table_folder(table: str, run_date: date) -> str:
    return f"{table}/run_date={run_date.isoformat()}"


def part_name(table: str, run_id: str, run_date: date, seq: int, leg: int) -> str:
    """Name a part of a leg; `seq` counts the leg's parts of this table from 0."""
    return f"{table_folder(table, run_date)}/{run_id}-{seq:05}-{leg:03}.parquet"


def runs_name(run_id: str, run_date: date, leg: int) -> str:
    return f"{table_folder('runs', run_date)}/{run_id}-{leg:03}.parquet"


def ingest_name(run_id: str, run_date: date, leg: int) -> str:
    """Name what became of the files that a leg has verified; leg 0 stands for files that were answered before."""
    return f"{table_folder('ingest', run_date)}/{run_id}-{leg:03}.parquet"


def leg_of(part_name: str) -> int:
    return int(part_name.rpartition("-")[2].removesuffix(".parquet"))


def legs_folder(run_id: str) -> str:
    return f"_runs/{run_id}/legs"


def leg_folder(run_id: str, leg: int) -> str:
    return f"{legs_folder(run_id)}/{leg:03}"


def lease_name(run_id: str, leg: int) -> str:
    return f"{leg_folder(run_id, leg)}/lease.json"


def heartbeat_name(run_id: str, leg: int) -> str:
    return f"{leg_folder(run_id, leg)}/heartbeat.json"


def stop_name(run_id: str, leg: int, token: str) -> str:
    return f"{leg_folder(run_id, leg)}/stop-{token}.json"


def receipt_name(run_id: str, leg: int) -> str:
    return f"{leg_folder(run_id, leg)}/receipt.json"


def journals_folder(run_id: str) -> str:
    return f"_runs/{run_id}/journal"


def journal_folder(run_id: str, leg: int) -> str:
    return f"{journals_folder(run_id)}/{leg:03}"


def pruning_name(run_id: str, number: int) -> str:
    return f"{PRUNED_FOLDER}/{run_id}-{number:03}.json"


def ledger_folder(number: int) -> str:
    return f"{LEDGER_FOLDER}/{number // _ENTRIES_PER_FOLDER:06}"


def ledger_name(number: int) -> str:
    return f"{ledger_folder(number)}/{number:09}.json"


def run_of(part_name: str) -> str:
    return part_name.rpartition("/")[2].partition("-")[0]


def catalog_folder(environment: str, identity: str) -> str:
    return f"_catalogs/{hashlib.sha256(f'{environment} {identity}'.encode()).hexdigest()[:16]}"


def key_name(fingerprint: str) -> str:
    return f"_keys/{fingerprint}.json"


def rotation_name(fingerprint: str) -> str:
    return f"_keys/{fingerprint}-rotation.json"


def rate_leases_folder(fingerprint: str, base_url: str) -> str:
    return f"_rates/{fingerprint}-{hashlib.sha256(base_url.encode()).hexdigest()[:8]}"


def rate_lease_name(folder: str, token: str) -> str:
    return f"{folder}/{token}.json"


def watch_id(environment: str, watched: str) -> str:
    """Name a watched folder in `INGEST_FOLDER`."""
    return hashlib.sha256(f"{environment}\0".encode() + raw_bytes(watched)).hexdigest()[:16]
