"""The files that a pass takes, as a catalog."""

from proofsweep.ingest.look import ReadyFiles

from .conftest import Watched


def test_rows_are_numbered_without_gaps_and_tagged(watched: Watched) -> None:
    """The plan of a run needs the first, and alerts and letters the second."""
    for name in ("a.wav", "acme/b.wav", "zeta/c.wav"):
        watched.deliver(name)
    folder = watched.new_pass().folder()
    listed = list(folder.rows())

    ready = ReadyFiles(folder, listed[1:], "supplier")

    assert [(row.number, row.named_audio, row.tags) for row in ready.rows()] == [
        (0, listed[1].named_audio, {"supplier": "acme"}),
        (1, listed[2].named_audio, {"supplier": "zeta"}),
    ]
    assert (ready.name, ready.location) == (folder.name, folder.location)


def test_the_digest_is_of_names_and_versions(watched: Watched) -> None:
    """Another choice of files is another catalog."""
    watched.deliver("a.wav")
    watched.deliver("b.wav")
    folder = watched.new_pass().folder()
    first, second = folder.rows()

    assert ReadyFiles(folder, [first], "s").digest() == ReadyFiles(folder, [first], "s").digest()
    assert ReadyFiles(folder, [first], "s").digest() != ReadyFiles(folder, [second], "s").digest()
