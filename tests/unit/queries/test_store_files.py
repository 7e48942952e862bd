"""DuckDB reads a bucket through the results store: by ranges, without any extension."""

import obstore
from obstore.store import MemoryStore

from proofsweep.queries.connection import StoreFiles, opened
from proofsweep.store.bucket_store import BucketStore
from proofsweep.store.parts import Results

from ...worlds.ended_nights import ACCEPTED, MONDAY, REJECTED, TUESDAY, night


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
            answers.append([views_of.connection.execute(f"FROM {table} ORDER BY ALL").fetchall() for table in tables])

    assert answers[0] == answers[1]
    assert len(answers[1][0]) == 4


def test_only_what_is_asked_is_read() -> None:
    """A glob lists folders, a range reads bytes, and a name without a glob costs no listing."""
    memory = MemoryStore()
    for name in ("t/d=1/a.parquet", "t/d=1/a.json", "t/d=2/b.parquet", "other/d=1/c.parquet"):
        obstore.put(memory, name, b"0123456789")
    files = StoreFiles(BucketStore("s3://results", lambda _root: memory))

    assert files.glob("proofsweep://t/*/*.parquet") == ["t/d=1/a.parquet", "t/d=2/b.parquet"]
    assert files.glob("proofsweep://gone.parquet") == ["gone.parquet"]
    with files.open("proofsweep://t/d=2/b.parquet") as file:
        file.seek(3)
        assert (file.size, file.read(4)) == (10, b"3456")
