"""A look into files before anything is sent leaves out only what carries no credential for sure."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count, islice
from pathlib import Path

import pytest

from proofsweep.files.files import Files
from proofsweep.model.items import WorkItem
from proofsweep.model.reasons import Ineligible, Reason
from proofsweep.verify.plan.deep_look import NO_LOOK, DeepLook, format_by_name

BARE = b"RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x08\0\0\0" + bytes(8)
SIGNED = BARE[:4] + b"\x36\0\0\0" + BARE[8:] + b"C2PA\2\0\0\0ok"
SKIPPING = DeepLook(files=Files(), skips_bare=True)
DEEP = DeepLook(files=Files(), judges_content=True)

ItemOf = Callable[[bytes], WorkItem]


@pytest.fixture
def item_of(tmp_path: Path) -> ItemOf:
    """Makes an item of a new file without a sidecar."""
    numbers = count()

    def item_of(content: bytes) -> WorkItem:
        path = tmp_path / f"{next(numbers)}.wav"
        path.write_bytes(content)
        return WorkItem(manifest_row=0, item_id=path.name, audio=str(path))

    return item_of


def test_without_anything_to_look_for_no_file_is_opened() -> None:
    """A plan costs no more than before."""
    (looked,) = NO_LOOK.into([WorkItem(manifest_row=0, item_id="a", audio="/nowhere/a.wav")])

    assert (looked.item.ineligible, looked.audio_format, looked.is_bare, looked.requests) == (None, "wav", None, None)


def test_only_a_wav_without_a_credential_is_left_out(item_of: ItemOf) -> None:
    """A file that carries one is asked, and so is one that may carry one; the sentence names the option."""
    looked = list(SKIPPING.into([item_of(BARE), item_of(SIGNED), item_of(BARE + b"more"), item_of(b"fLaC")]))

    reasons = [each.item.ineligible and each.item.ineligible.reason for each in looked]
    assert reasons == [Reason.NO_CREDENTIAL, None, None, None]
    assert [each.is_bare for each in looked] == [True, False, False, None]
    assert "--skip-without-credential" in looked[0].item.ineligible.detail  # type: ignore[union-attr]  # it has one


def test_a_deep_look_counts_them_and_leaves_none_out(item_of: ItemOf) -> None:
    """It is advice."""
    (looked,) = DEEP.into([item_of(BARE)])

    assert (looked.item.ineligible, looked.is_bare, looked.requests) == (None, True, 0)


def test_a_file_of_another_version_than_was_listed_is_asked(item_of: ItemOf) -> None:
    """It may still be written, and its credential comes last."""
    (looked,) = SKIPPING.into([replace(item_of(BARE), audio_version="as it was listed")])

    assert (looked.item.ineligible, looked.is_bare) == (None, False)


def test_a_file_that_cannot_be_opened_is_left_to_the_run(item_of: ItemOf) -> None:
    """It may be readable when its turn comes; a deep look says what is wrong with it now."""
    item = item_of(BARE)
    Path(item.audio).unlink()

    (skipping,), (deep,) = SKIPPING.into([item]), DEEP.into([item])

    assert skipping.item.ineligible is None
    assert deep.item.ineligible is not None
    assert deep.item.ineligible.reason is Reason.MISSING_AUDIO


def test_pairs_and_what_is_ineligible_already_are_not_opened(item_of: ItemOf) -> None:
    """The sidecar is the credential of a pair."""
    pair = replace(item_of(BARE), sidecar="/nowhere/a.sidecar")
    empty = replace(item_of(BARE), ineligible=Ineligible(Reason.EMPTY, "It holds no bytes."))

    first, second = SKIPPING.into([pair, empty])

    assert (first.item, second.item) == (pair, empty)
    assert (first.requests, second.requests) == (None, None)


def test_a_chunk_of_the_partners_own_is_a_credential(item_of: ItemOf) -> None:
    """Its name is a setting, even if others use the name for something else."""
    content = BARE[:4] + b"\x36\0\0\0" + BARE[8:] + b"LIST\2\0\0\0ok"
    ours = replace(SKIPPING, credential_chunks=["LIST"])

    (bare,), (carried,) = SKIPPING.into([item_of(content)]), ours.into([item_of(content)])

    assert (bare.is_bare, carried.is_bare) == (True, False)


def test_a_look_goes_only_a_little_ahead(item_of: ItemOf) -> None:
    """A catalog of a million files is never in memory, and the order stays."""
    drawn: list[str] = []

    def endless() -> Iterator[WorkItem]:
        item = item_of(BARE)
        for number in count():
            drawn.append(str(number))
            yield replace(item, item_id=str(number))

    looked = [each.item.item_id for each in islice(SKIPPING.into(endless()), 50)]

    assert looked == [str(number) for number in range(50)]
    assert len(drawn) < 100


@pytest.mark.parametrize(
    ("audio", "named"),
    [
        ("/m/a.WAV", "wav"),
        ("s3://b/x.y/a", "no ending"),
        ("/m/a.b.Mp3", "mp3"),
        ("/m/a.\udcff", "\\xff"),
        ("", "no ending"),
        ("/m/disc 2.wav/", "folder"),
    ],
)
def test_a_format_is_guessed_by_the_names_ending(audio: str, named: str) -> None:
    """In lower case, printable, and never by a folder's name."""
    assert format_by_name(WorkItem(manifest_row=0, item_id="a", audio=audio)) == named
