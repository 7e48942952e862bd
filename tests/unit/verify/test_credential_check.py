"""The check leaves out only what carries no credential for sure."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import count, islice
from pathlib import Path

import pytest

from proofsweep.domain.items import WorkItem
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.files import Files
from proofsweep.verify.survey import CredentialCheck

BARE = b"RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x08\0\0\0" + bytes(8)
SIGNED = BARE[:4] + b"\x36\0\0\0" + BARE[8:] + b"C2PA\2\0\0\0ok"
CHECK = CredentialCheck(Files())

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


def reasons(items: Iterable[WorkItem]) -> list[Reason | None]:
    """Return why each item is not sent."""
    return [item.ineligible.reason if item.ineligible else None for item in items]


def test_only_a_wav_without_a_credential_is_left_out(item_of: ItemOf) -> None:
    """A file that carries one is asked, and so is one that may carry one; the sentence names the option."""
    judged = list(CHECK.judged([item_of(BARE), item_of(SIGNED), item_of(BARE + b"more"), item_of(b"fLaC")]))

    assert reasons(judged) == [Reason.NO_CREDENTIAL, None, None, None]
    assert "--skip-without-credential" in judged[0].ineligible.detail  # type: ignore[union-attr]  # it has one


def test_a_file_of_another_version_than_was_listed_is_asked(item_of: ItemOf) -> None:
    """It may still be written, and its credential comes last."""
    assert reasons(CHECK.judged([replace(item_of(BARE), audio_version="as it was listed")])) == [None]


def test_a_file_that_cannot_be_opened_is_left_to_the_run(item_of: ItemOf) -> None:
    """It may be readable when its turn comes."""
    item = item_of(BARE)
    Path(item.audio).unlink()

    assert list(CHECK.judged([item])) == [item]


def test_pairs_and_what_is_ineligible_already_are_not_opened(item_of: ItemOf) -> None:
    """The sidecar is the credential of a pair."""
    pair = replace(item_of(BARE), sidecar="/nowhere/a.sidecar")
    empty = replace(item_of(BARE), ineligible=Ineligible(Reason.EMPTY, "It holds no bytes."))

    assert list(CHECK.judged([pair, empty])) == [pair, empty]


def test_a_look_goes_only_a_little_ahead(item_of: ItemOf) -> None:
    """A catalog of a million files is never in memory, and the order stays."""
    drawn: list[str] = []

    def endless() -> Iterator[WorkItem]:
        item = item_of(BARE)
        for number in count():
            drawn.append(str(number))
            yield replace(item, item_id=str(number))

    looked = [item.item_id for item in islice(CHECK.judged(endless()), 50)]

    assert looked == [str(number) for number in range(50)]
    assert len(drawn) < 100
