"""Bags in a watched folder: what is not there is waited for."""

from .conftest import Watched


def test_files_that_a_bag_names_and_that_are_not_there_are_not_looked_at(watched: Watched) -> None:
    """They are still on their way, or were moved by an earlier pass; neither is a fault of the delivery."""
    watched.deliver("bag/data/a.wav")
    watched.deliver("bag/bagit.txt", b"BagIt-Version: 1.0\n")
    watched.deliver("bag/manifest-md5.txt", f"{'0' * 32}  data/a.wav\n{'0' * 32}  data/gone.wav\n".encode())

    first = watched.run_pass()
    watched.later(3_600)
    second = watched.run_pass()

    assert len(first.report.rows) == 1
    assert (watched.root / "ok" / "bag" / "data" / "a.wav").is_file()
    assert (second.report.run_ids, second.report.rows) == ([], [])
