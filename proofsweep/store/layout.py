"""Names of all objects in a results store: functions of run, leg and number, so that no work is stored twice."""

import hashlib
import re
from collections.abc import Callable
from datetime import date
from typing import Literal

from proofsweep.domain.items import raw_bytes

# What is derived may be deleted at any time, and is made anew.
# The number is one more whenever a record in the checkpoint has other members.
CHECKPOINT_NAME = "_index/runs-3.json.gz"
LATEST_FOLDER = "_latest"
LOG_FOLDER = "_log"
# Entries of the log in one folder, so that the newest is found by two short listings.
_ENTRIES_PER_FOLDER = 1_000
# What was told of each cause, and to whom; it can be deleted too.
ALERTS_FOLDER = "_alerts"
# When a catalog last had nothing that was due; it can be deleted too.
IDLE_FOLDER = "_idle"
# A results store of its own inside this one: the leases and documents of watched folders.
INGEST_FOLDER = "_ingest"

ItemList = Literal["items", "listed", "gone"]
"""Of a run its planned items; the whole catalog, if it leaves some out; what only the listing before had."""

_OF_LEG = re.compile(r"[^/]*-(\d{3,})\.parquet", re.ASCII)
_RUN_ID = re.compile(r"[0-9A-Za-z_]{1,64}")
_OPERATION_ID = re.compile(r"\d{8}T\d{6}Z_\d{3}_([a-z]+)_[0-9a-f]+", re.ASCII)

_OfRun = Callable[[str], str]
_OfLeg = Callable[[str, int], str]

plan_name: _OfRun = "_runs/{}/plan.json".format
legs_folder: _OfRun = "_runs/{}/legs".format
leg_folder: _OfLeg = "_runs/{}/legs/{:03}".format
lease_name: _OfLeg = "_runs/{}/legs/{:03}/lease.json".format
heartbeat_name: _OfLeg = "_runs/{}/legs/{:03}/heartbeat.json".format
receipt_name: _OfLeg = "_runs/{}/legs/{:03}/receipt.json".format
stop_name: Callable[[str, int, str], str] = "_runs/{}/legs/{:03}/stop-{}.json".format  # for the holder of a token
journals_folder: _OfRun = "_runs/{}/journal".format
journal_folder: _OfLeg = "_runs/{}/journal/{:03}".format

table_folder: Callable[[str, date], str] = "{}/run_date={}".format
# Of a table, run, day, sequence and leg: `seq` counts the leg's parts of this table from 0.
part_name: Callable[[str, str, date, int, int], str] = "{0}/run_date={2}/{1}-{3:05}-{4:03}.parquet".format
runs_name: Callable[[str, date, int], str] = "runs/run_date={1}/{0}-{2:03}.parquet".format
# What became of those files of a leg that stay where they were delivered; of those that left, before it, parts are
# numbered as of the other tables. Leg 0 stands for files that were answered before.
ingest_name: Callable[[str, date, int], str] = "ingest/run_date={1}/{0}-{2:03}.parquet".format

key_name: Callable[[str], str] = "_keys/{}.json".format  # of a fingerprint
rotation_name: Callable[[str], str] = "_keys/{}-rotation.json".format


def is_run_id(text: str) -> bool:
    return _RUN_ID.fullmatch(text) is not None


def kind_of(run_id: str) -> str:
    """Return the kind of operation that a run is, by its ID; empty for one that verifies a catalog."""
    named = _OPERATION_ID.fullmatch(run_id)
    return "" if named is None else named[1]


def items_folder(run_id: str, which: ItemList = "items") -> str:
    return f"_runs/{run_id}/{which}"


def items_name(run_id: str, number: int, which: ItemList = "items") -> str:
    """Name some items of a list; `number` counts such objects from 0, in manifest order."""
    return f"{items_folder(run_id, which)}/{number:05}.parquet"


def leg_of(part_name: str) -> int:
    """Return the leg of a part; 0 for a name that no part has."""
    named = _OF_LEG.fullmatch(part_name.rpartition("/")[2])
    return 0 if named is None else int(named[1])


def next_part(part_name: str) -> str:
    """Return the name of the next part of a leg."""
    above, sequence, leg = part_name.rsplit("-", 2)
    return f"{above}-{int(sequence) + 1:05}-{leg}"


def run_of(part_name: str) -> str:
    return part_name.rpartition("/")[2].partition("-")[0]


def log_name(number: int) -> str:
    folder = number // _ENTRIES_PER_FOLDER
    return f"{LOG_FOLDER}/{folder:06}/{number:09}.json"


def log_number(name: str) -> int:
    """Return the number of an entry by its name; 0 if it is no entry's name."""
    stem = name.rpartition("/")[2].removesuffix(".json")
    if not stem.isdecimal() or log_name(int(stem)) != name:
        return 0
    return int(stem)


def rate_leases_folder(fingerprint: str, base_url: str) -> str:
    service = hashlib.sha256(base_url.encode()).hexdigest()
    return f"_rates/{fingerprint}-{service[:8]}"


def rate_pause_name(fingerprint: str, base_url: str) -> str:
    """Name the pause that the service has asked for; it is no lease."""
    return f"{rate_leases_folder(fingerprint, base_url)}-pause.json"


def watch_id(environment: str, watched: str) -> str:
    """Name a watched folder in `INGEST_FOLDER`."""
    named = f"{environment}\0".encode() + raw_bytes(watched)
    return hashlib.sha256(named).hexdigest()[:16]
