"""One engine per process and settings, with a key that belongs to its service."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from proofsweep.client.keys import fingerprint
from proofsweep.config.load import Settings
from proofsweep.config.logs import Event
from proofsweep.domain.errors import ConfigError, RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.store.keys import bind_key
from proofsweep.store.objects import open_store
from proofsweep.wiring.engines import engine_for

from ..scripted_service import Scripted, ScriptedService
from ..wired import Change

KEY = SecretStr("pk_test")


def test_the_same_settings_share_an_engine(settings: Settings, change: Change) -> None:
    """What one part of a process learns of the lane, the others know; other settings may mean another lane."""
    first = engine_for(settings)

    assert engine_for(change()) is first
    assert engine_for(change(PACE__FIRST_RATE=5)) is not first


def test_an_engine_whose_leg_was_stopped_is_not_used_again(settings: Settings) -> None:
    """Its switch stays pulled; the next leg of this process needs another one."""
    stopped = engine_for(settings)
    stopped.stop.pull(RunMustStop("Enough.", ended_by="cancelled"))

    fresh = engine_for(settings)

    assert fresh is not stopped
    assert fresh.stop.reason is None
    assert engine_for(settings) is fresh


def test_a_key_that_takes_over_must_be_this_services_too(
    settings: Settings, tmp_path: Path, service: ScriptedService
) -> None:
    """A key file that was overwritten with production's key leads to no call with it."""
    engine = engine_for(settings)
    (tmp_path / "key").write_text("pk_other")
    bind_key(open_store(settings.results.url), fingerprint(SecretStr("pk_other")), "https://other.example/v1")
    service.usual[Call.USAGE] = Scripted(status=403)

    with pytest.raises(RunMustStop) as stopped:
        engine.service()

    assert stopped.value.ended_by == "key_refused"
    assert service.calls.count(Call.USAGE) == 1
    assert engine.key_fingerprint == fingerprint(KEY)


@pytest.mark.parametrize("variables", [{"SERVICE__API_KEY_ENV": "MY_KEY"}, {"SERVICE__API_KEY_BLOCK": "my-key"}, {}])
def test_a_key_comes_from_a_file_a_variable_or_a_block(
    change: Change, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever the settings name."""
    monkeypatch.setenv("MY_KEY", "pk_test")

    engine = engine_for(change(**variables), {"my-key": "pk_test"}.__getitem__)

    assert engine.key_fingerprint == fingerprint(KEY)


def test_settings_that_name_no_key_are_refused(change: Change) -> None:
    """So are those that name a block where there is no orchestrator to read it."""
    with pytest.raises(ConfigError, match="where the API key is kept"):
        engine_for(change(SERVICE__API_KEY_BLOCK="my-key"), None)


def test_the_service_is_examined_once(settings: Settings, service: ScriptedService) -> None:
    """It costs a call; its exchanges belong to no row, and wait to be written down."""
    engine = engine_for(settings)

    status = engine.service()

    assert engine.usable_service() is engine.service() is status
    assert (status.version, status.headroom) == ("7", 900)
    assert service.calls == [Call.HEALTH, Call.USAGE]
    assert [exchange.call for exchange in engine.unattributed] == [Call.HEALTH, Call.USAGE]


def test_a_service_without_calls_above_the_reserve_is_not_usable(settings: Settings) -> None:
    """Of 900 calls, 898 are for others: a leg needs two for a file, and one for its last probe."""
    engine = engine_for(settings)

    assert engine.usable_service(reserve=897).headroom == 900
    with pytest.raises(RunMustStop, match="reserved: 898"):
        engine.usable_service(reserve=898)


def test_a_quota_header_that_cannot_be_read_is_logged_once(
    settings: Settings, service: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its name and not its value, however many answers have it."""
    logged: list[tuple[Event, object]] = []
    monkeypatch.setattr("proofsweep.client.session.log", lambda event, **facts: logged.append((event, facts)))
    service.usual[Call.USAGE] = Scripted(document={}, unreadable=("x-ratelimit-remaining",))
    engine = engine_for(settings)

    headroom = engine.service().headroom
    engine.partner.usage(days=1)

    assert headroom is None
    facts = {"header": "x-ratelimit-remaining", "call": "usage"}
    assert logged == [(Event.HEADER_IGNORED, facts)]


def test_work_in_hand_is_aborted_only_after_a_stop(settings: Settings) -> None:
    """Nobody is in a hurry before."""
    engine = engine_for(settings)
    engine.abort()
    before = engine.stop.is_aborted

    engine.stop.pull(RunMustStop("Enough.", ended_by="cancelled"))
    engine.abort()

    assert (before, engine.stop.is_aborted) == (False, True)
