"""A results store opens in DuckDB, one environment at a time."""

import errno
import resource
from datetime import date
from pathlib import Path
from threading import Barrier

import pytest
from obstore.store import MemoryStore

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.exchanges import Call
from proofsweep.queries.connection import answering, open_views, opened, tables_of
from proofsweep.store.bucket_store import BucketStore
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results, parquet_of

from ...worlds.ended_nights import ACCEPTED, MONDAY, REJECTED, TUESDAY, night
from ..ended_operations import call_of, leave_operation, operation_named
from ..passes_of_monitoring import leave_pass


def test_the_views_show_one_environment_unless_asked(results: Results) -> None:
    """The only one, or the named one, or that of the settings; of several none is guessed, whatever ran last."""
    night(results, MONDAY, {"a": ACCEPTED, "b": ACCEPTED}, environment="production")
    night(results, TUESDAY, {"a": ACCEPTED}, environment="it's beta")
    some = ("verdicts", "exchanges", "runs", "catalog", "coverage")
    seen = {}

    with pytest.raises(ResultsError, match=r"holds the environments it's beta, production; name one of them"):
        open_views(results)
    with opened(results, preferred="production") as store:
        assert store.execute("SELECT DISTINCT environment FROM verdicts").fetchall() == [("production",)]
    for asked in ("it's beta", "production", "all"):
        with opened(results, asked) as store:
            counts = [store.execute(f"SELECT count(*) FROM {view}").fetchone() for view in some]  # noqa: S608 - ours
            seen[asked] = [row[0] for row in counts if row]

    assert seen["all"] == [a + b for a, b in zip(seen["it's beta"], seen["production"], strict=True)]


def test_operations_and_probes_are_seen_without_a_run(results: Results) -> None:
    """In a store that has nothing else, and beside runs of another environment: what has no row is not chosen."""
    monitoring = operation_named("20261117T030000Z_000cc", "monitoring", environment="sandbox")
    leave_pass(results, monitoring.operation_id, "sandbox", [call_of(monitoring, "r-1", Call.HEALTH)])
    inventory = operation_named("20261116T040000Z_000bb", environment="sandbox")
    tables = {"probes": "FROM probes", "calls": "SELECT request_id FROM exchanges", "rows": "FROM verdicts"}

    def seen(name: str, **shown: str) -> int:
        with opened(results, asked=tables[name], **shown) as store:
            return len(store.execute(tables[name]).fetchall())

    assert seen("probes") == seen("probes", environment="all") == 1
    with pytest.raises(ResultsError, match="There is no run"):
        seen("rows")
    night(results, MONDAY, {"a": ACCEPTED}, environment="beta")
    assert (seen("probes", preferred="sandbox"), seen("rows", preferred="sandbox"), seen("rows")) == (1, 1, 1)
    assert seen("probes") == 1
    with pytest.raises(ResultsError, match="no run of the environment sandbox: there are beta"):
        seen("rows", environment="sandbox")
    leave_operation(results, inventory, [call_of(inventory, "r-2")])
    assert seen("calls", environment="sandbox") == 1
    said: list[str] = []
    with opened(results, "beta", asked="FROM probes", note=said.append):
        assert said == ["There is no probe of beta, but of sandbox (--environment)."]
    for asked, shown in (
        ("FROM probes", "sandbox"),
        ("FROM exchanges", "beta"),
        ("FROM verdicts", "beta"),
        ("", "beta"),
    ):
        with opened(results, shown, asked=asked, note=said.append):
            assert len(said) == 1


class MeetingStore(FolderStore):
    """A store that answers a listing of what is gone only while it is asked for another one."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.listed: list[str] = []
        self._meeting = Barrier(2, timeout=20)

    def names(self, folder: str) -> list[str]:
        if folder.endswith("/gone"):
            self.listed.append(folder)
            self._meeting.wait()
        return super().names(folder)


def test_nights_of_changed_files_are_listed_side_by_side_and_only_for_what_needs_them(results: Results) -> None:
    """Each run that left rows out has a list of what is gone: a bucket takes some time for each."""
    nights = [f"202611{day}T020000Z_000aaaaaa" for day in range(16, 20)]
    for run_id in nights:
        night(results, run_id, {"a": ACCEPTED}, skipped=1, listed="ab")
    store = MeetingStore(Path(results.store.url))
    counts = {}

    for asked in ("FROM rejects", "FROM coverage", "FROM verdicts", "FROM changes"):
        with opened(Results(store), asked=asked) as views_of:
            views_of.execute(asked).fetchall()
        counts[asked], store.listed = len(store.listed), []
    with answering(Results(store), ["beta"], "coverage"):
        counts["status"] = len(store.listed)

    assert counts == {"FROM rejects": 0, "FROM coverage": 0, "FROM verdicts": 0, "FROM changes": 4, "status": 0}


def test_a_full_disk_is_an_error_of_the_system(results: Results) -> None:
    """DuckDB has no error of its own for it; any other of its errors says that the store cannot be read."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(OSError, match="File too large") as raised, tables_of(results) as tables:
            tables.execute("SET memory_limit = '20MB'; CREATE TABLE numbers AS SELECT random() FROM range(5000000)")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert raised.value.errno == errno.EFBIG
    with pytest.raises(ResultsError, match=r"cannot be read .Parser Error"), tables_of(results) as tables:
        tables.execute("SELEC 1")


def test_a_column_that_older_parts_lack_is_null(results: Results) -> None:
    """Wherever the newer parts are, and for tables of which there are older parts only."""
    night(results, MONDAY, {"a": ACCEPTED})
    night(results, TUESDAY, {"b": ACCEPTED})
    (monday,) = (name for name in results.all_parts("verdicts") if MONDAY in name)
    older = results.table("verdicts", [monday]).drop_columns(["relative_path", "sidecar_version"])
    results.store.replace(monday, parquet_of(older))
    for name in results.all_parts("runs"):
        results.store.replace(name, parquet_of(results.table("runs", [name]).drop_columns(["sunset", "skipped"])))

    with opened(results) as store:
        query = "SELECT run_date, item_id, relative_path FROM verdicts ORDER BY run_date"
        rows = store.execute(query).fetchall()
        legs = store.execute("SELECT sunset, skipped FROM runs").fetchall()

    assert rows == [(date(2026, 11, 16), "a", None), (date(2026, 11, 17), "b", "b")]
    assert legs == [(None, None)] * 2


def test_hidden_files_are_no_parts(results: Results) -> None:
    """A copying tool leaves a draft, and a file manager its own file, beside a part."""
    night(results, MONDAY, {"a": ACCEPTED})
    (part,) = map(Path(results.store.url).joinpath, results.all_parts("verdicts"))
    part.with_name(f".{part.name}").write_bytes(part.read_bytes())
    part.with_name(f"._{part.name}").write_bytes(b"no Parquet")

    with opened(results) as store:
        assert store.execute("SELECT count(*) FROM verdicts").fetchall() == [(1,)]


def test_a_question_about_one_run_opens_only_the_files_that_it_needs(results: Results) -> None:
    """Here that of another night could not be read."""
    nights = [f"202610{day:02}T020000Z_000aaaaaa" for day in range(1, 21)]
    for each in nights:
        night(results, each, {"a": ACCEPTED if each < nights[-1] else REJECTED}, is_noted=True)
    (tenth,) = (name for name in results.all_parts("verdicts") if nights[9] in name)

    with opened(results) as store:
        results.store.replace(tenth, b"no Parquet")
        rows = [
            store.table(view).filter(f"run_id = '{nights[-1]}'").select("item_id").fetchall()
            for view in ("verdicts", "latest_answer")
        ]

    assert rows == [[("a",)]] * 2


def test_the_first_rows_of_a_run_are_found_by_another_column(results: Results) -> None:
    """DuckDB 2.0 fails here with an internal error unless one of its optimizers is off."""
    night(results, MONDAY, {"a": ACCEPTED | {"verify_request_id": "r-1"}})
    ids = "uploads_request_id, verify_request_id, storage_request_id"
    query = f"SELECT item_id FROM verdicts WHERE run_id >= '2' AND 'r-1' IN ({ids}) ORDER BY run_id DESC LIMIT 1"  # noqa: S608 - our own

    with opened(results) as store:
        assert store.execute(query).fetchall() == [("a",)]


def test_a_bucket_answers_as_a_folder_does(results: Results) -> None:
    """The same nights in both give the same rows of changes and rejects."""
    memory = MemoryStore()
    bucket = Results(BucketStore("s3://results/of music", lambda _root: memory))
    answers = []
    for store in (results, bucket):
        night(store, MONDAY, {"a": ACCEPTED, "b": ACCEPTED}, is_noted=True)
        night(store, TUESDAY, {"a": REJECTED}, is_noted=True)
        with opened(store) as views_of:
            tables = ("changes", "rejects", "latest_answer", "verdicts", "runs")
            answers.append([views_of.execute(f"FROM {table} ORDER BY ALL").fetchall() for table in tables])

    assert answers[0] == answers[1]
    assert len(answers[1][0]) == 4
