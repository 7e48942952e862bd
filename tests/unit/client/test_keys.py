"""The key comes from where it is kept, and is never shown."""

import hashlib
from pathlib import Path

import pytest
from pydantic import SecretStr

from proofsweep.client.keys import CurrentKey, fingerprint, key_file, usable_key
from proofsweep.domain.errors import ConfigError


def test_a_missing_key_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere cannot be read \(No such file"):
        key_file(tmp_path / "nowhere")()


@pytest.mark.parametrize("text", ["", " \n", "two keys", "a\nb", "clé", "a\x00b", "a\x7f"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(text: str) -> None:
    """A broken key is a mistake in the configuration, and still a secret."""
    with pytest.raises(ConfigError) as raised:
        usable_key(text, where="The test")

    assert raised.value.message.startswith("The test holds")
    assert not text.strip() or text not in str(raised.value)


def test_who_waits_for_another_key_is_told_once_that_it_took_over() -> None:
    keys = [SecretStr("old"), SecretStr("old"), SecretStr("new")]
    current, told = CurrentKey(lambda: keys.pop(0)), list[bool]()
    current.on_renewed = lambda: told.append(True)

    renewed = [current.renew(SecretStr("old")) for _ in range(4)]

    assert (renewed, told) == ([False, True, True, True], [True])


def test_a_fingerprint_tells_keys_apart_and_reveals_none() -> None:
    """Twelve hex digits of a digest that is used for nothing else."""
    first, second = fingerprint(SecretStr("first")), fingerprint(SecretStr("second"))

    assert first == fingerprint(SecretStr("first"))
    assert first != second
    assert len(first) == 12
    assert int(first, 16) >= 0
    assert not hashlib.sha256(b"first").hexdigest().startswith(first)
