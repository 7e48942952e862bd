"""The files of a release's folder that messages name."""

from tempfile import TemporaryFile

from proofsweep.catalog.deliveries.ern import read_message
from proofsweep.catalog.deliveries.listed_folders import ListedFolders
from proofsweep.catalog.deliveries.message_spool import MessageSpool
from proofsweep.catalog.deliveries.named_files import NamedFiles, ReleaseFolder, named_files
from proofsweep.catalog.deliveries.threads import Threads, header_of
from proofsweep.files.local_files import LocalFiles
from proofsweep.files.source import Folder
from tests.unit.catalog.deliveries.held_file import HeldFile
from tests.worlds.ddex_messages import Sending, Track


def found_in(files: list[str], sending: Sending) -> NamedFiles:
    """Return what a message says of the files of its folder."""
    message = read_message(HeldFile(sending.content()))
    listed = ListedFolders(LocalFiles())
    listed.add(Folder(location="/none/b/r", files=files), is_top=True)
    with TemporaryFile() as file:
        spool = MessageSpool(file)
        header = header_of(message, spool.add(message), "/none/b/r/m.xml")
        release = ReleaseFolder(location="/none/b/r", headers=[header])
        return named_files(release, Threads([header]), spool, listed, {"/none/b/r": "/none/b"})


def test_clip_that_is_a_recording_too_is_one() -> None:
    """The recording wins, and a file that two recordings name is one row."""
    tracks = [
        Track(isrc="A", files=["a.wav"]),
        Track(isrc="B", files=["a.wav"]),
        Track(isrc="C", files=["a.wav", "c.wav"], is_clip=True),
    ]

    found = found_in(["a.wav", "c.wav", "i.jpg"], Sending(tracks=tracks, images=["i.jpg"]))

    assert [naming.tags["isrc"] for naming in found.here.values()] == ["A"]
    assert (found.clips, found.others, found.missing) == ({"/none/b/r/c.wav"}, {"/none/b/r/i.jpg"}, [])
