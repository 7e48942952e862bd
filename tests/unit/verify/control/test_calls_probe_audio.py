"""A file of our own is taken through the core flow like any other, and has no credential."""

import io
import wave

import pytest

from proofsweep.files.audio import open_audio
from proofsweep.model.exchanges import Call
from proofsweep.model.items import Mode
from proofsweep.model.outcomes import Finished
from proofsweep.verify.control.calls import ProbeFiles, probe_item
from proofsweep.verify.item.verify_item import VerifyContext, verify_item

from ...scripted_service import NOW, ScriptedService


@pytest.fixture
def context(verify_context: VerifyContext) -> VerifyContext:
    """What the probe audio is verified with."""
    return VerifyContext(
        partner=verify_context.partner, limits=verify_context.limits, files=ProbeFiles(), clock=lambda: NOW
    )


def test_the_probe_audio_is_a_wav_that_goes_all_the_way(context: VerifyContext, service: ScriptedService) -> None:
    """A tenth of a second of mono silence in 16 bits, made here."""
    done = verify_item(probe_item(Mode.ONE_FILE), context)

    assert isinstance(done, Finished)
    assert service.calls == [Call.UPLOADS, Call.SLOT, Call.VERIFY]
    sent = service.uploads[0]
    with wave.open(io.BytesIO(sent[sent.index(b"RIFF") :])) as audio:
        assert (audio.getnchannels(), audio.getsampwidth(), audio.getframerate()) == (1, 2, 44_100)
        assert audio.readframes(10_000) == bytes(8_820)


def test_the_probe_audio_has_no_credential() -> None:
    """No answer but an acceptance shows that something is wrong."""
    with open_audio(probe_item(Mode.ONE_FILE).audio, ProbeFiles()) as audio:
        assert not audio.has_credential()
        assert not audio.is_cut_short()


@pytest.mark.parametrize(
    ("mode", "names"), [(Mode.ONE_FILE, {"uploadId"}), (Mode.LEGACY_PAIR, {"uploadId", "sidecar"})]
)
def test_it_is_sent_in_the_mode_that_is_in_doubt(
    context: VerifyContext, service: ScriptedService, mode: Mode, names: set[str]
) -> None:
    """As a pair it has a sidecar, which is no proof."""
    item = probe_item(mode)

    verify_item(item, context)

    (body,) = service.bodies
    assert isinstance(body, dict)
    assert set(body) == names
    assert item.mode is mode
