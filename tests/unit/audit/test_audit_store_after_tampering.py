"""An audit finds each of many random changes of a small store."""

import json
import os
import random
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from proofsweep.audit.check import audit_store
from proofsweep.audit.findings import Audit
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results, parquet_of

TAMPERINGS = int(os.environ.get("PROOFSWEEP_SOAK_TAMPERINGS", "8"))
SEED = int(os.environ.get("PROOFSWEEP_SOAK_SEED") or 20261120)
AUDITED = ("verdicts/**/*.parquet", "exchanges/**/*.parquet", "_runs/*/plan.json", "_runs/*/legs/*/receipt.json")
AUDITED += ("_log/*/*.json",)
TABLES = ("verdicts", "exchanges", "runs")


@pytest.fixture(scope="module")
def head(built: Path) -> str:
    return audit(built).head


def audit(root: Path, head: str | None = None) -> Audit:
    return audit_store(Results(FolderStore(root)), head=head)


def files(root: Path, *patterns: str) -> list[Path]:
    return sorted(path for pattern in patterns or AUDITED for path in root.glob(pattern))


def drawn_rows(root: Path, lots: random.Random, *tables: str) -> tuple[Path, pa.Table]:
    parts = [(path, pq.ParquetFile(path).read()) for path in files(root, *(f"{each}/**/*.parquet" for each in tables))]
    return lots.choice([(path, table) for path, table in parts if table.num_rows])


def flip(root: Path, lots: random.Random) -> str:
    path = lots.choice(files(root))
    content = bytearray(path.read_bytes())
    content[lots.randrange(len(content))] ^= 1 << lots.randrange(8)
    path.write_bytes(content)
    return f"flipped a bit of {path.name}"


def cut(root: Path, lots: random.Random) -> str:
    path = lots.choice(files(root))
    path.write_bytes(path.read_bytes()[: lots.randrange(path.stat().st_size)])
    return f"cut {path.name}"


def remove(root: Path, lots: random.Random) -> str:
    path = lots.choice(files(root))
    path.unlink()
    return f"removed {path.name}"


def swap(root: Path, lots: random.Random) -> str:
    one, other = lots.sample(files(root), 2)
    mine, theirs = one.read_bytes(), other.read_bytes()
    one.write_bytes(theirs)
    other.write_bytes(mine)
    return f"swapped {one.name} and {other.name}"


def copy(root: Path, lots: random.Random) -> str:
    """Copy a part under a further name: of another leg, number or run."""
    path = lots.choice([each for table in TABLES[:2] for each in files(root, f"{table}/**/*.parquet")])
    run_id, number, leg = path.stem.split("-")
    names = (f"{run_id}-{number}-009", f"{run_id}-00077-{leg}", f"20250601T120000Z_000bb-{number}-{leg}")
    path.with_stem(lots.choice(names)).write_bytes(path.read_bytes())
    return f"copied {path.name}"


def rewrite(root: Path, lots: random.Random) -> str:
    """Change one cell of a table, with a part that is sound in itself."""
    path, table = drawn_rows(root, lots, *TABLES)
    row, column = lots.randrange(table.num_rows), lots.choice(table.column_names)
    cells = table[column].to_pylist()
    kind = table.schema.field(column).type
    others = ["other"] if pa.types.is_string(kind) else [False, True] if pa.types.is_boolean(kind) else [12, 13]
    cells[row] = next(other for other in others if other != cells[row])
    place = table.column_names.index(column)
    changed = table.set_column(place, table.schema.field(column), pa.array(cells, kind))
    path.write_bytes(parquet_of(changed))
    return f"changed {column} of row {row} in {path.parts[-3]}/{path.name}"


def reorder(root: Path, lots: random.Random) -> str:
    """Leave a row of a part out, write one twice, or turn the rows round."""
    path, table = drawn_rows(root, lots, *TABLES[:2])
    rows = list(range(table.num_rows))
    chosen = lots.choice([rows[1:], [*rows, rows[0]], rows[::-1] if len(rows) > 1 else []])
    path.write_bytes(parquet_of(table.take(pa.array(chosen, pa.int64()))))
    return f"took rows {chosen} of {path.name}"


def edit(root: Path, lots: random.Random) -> str:
    """Change one member of a plan, of a receipt, or of an entry."""
    path = lots.choice(files(root, *AUDITED[2:]))
    document = json.loads(path.read_text())
    member = lots.choice(sorted(document))
    document[member] = lots.choice(["other", 7, None, [], {}])
    path.write_text(json.dumps(document, indent=2))
    return f"changed {member} of {path.parent.name}/{path.name}"


KINDS = (flip, cut, remove, swap, copy, rewrite, reorder, edit)


def test_each_random_tampering_is_found(built: Path, head: str, tmp_path: Path) -> None:
    """With a head that was kept elsewhere; each change is drawn from a seed, and no audit breaks off."""
    lots, missed = random.Random(SEED), []  # noqa: S311 - it guards nothing
    for number in range(TAMPERINGS):
        root = tmp_path / str(number)
        shutil.copytree(built, root)
        what = KINDS[number % len(KINDS)](root, lots)
        if not audit(root, head).wrong:
            missed.append(what)
        shutil.rmtree(root)

    assert missed == []
